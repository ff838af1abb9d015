import type { Readiness } from '../console/health.ts';
import type { EnvoyAdmin } from '../envoy/admin.ts';
import type { XdsEvent } from '../xds/observer.ts';

/** Tells when a control plane is ready. */
export interface ReadinessWatch {
  /** Resolves when it is ready for the first time. */
  readonly ready: Promise<void>;
  readonly current: Readiness;
  observe(event: XdsEvent): void;
}

/**
 * A control plane without a proxy of its own is ready once it listens, which it does after its first commit. It never waits
 * for streams: proxies reach it through a Service, and that lists only what is ready.
 */
export class ServeReadiness implements ReadinessWatch {
  readonly ready: Promise<void>;
  current: Readiness = { ready: false, reason: 'making the first configuration' };
  private readonly onReady: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.onReady = resolve;
  }

  observe(): void {}

  listening(): void {
    this.current = { ready: true, reason: '' };
    this.onReady();
  }
}

/** By name: those of TCP services may be open before a certificate has come for HTTPS. */
const LISTENERS = ['http', 'https'];
const POLL_MS = 20;

/**
 * Whether Envoy serves what the control plane has: it has accepted everything once, and its listeners take connections.
 * Envoy is asked at most every 20 ms, from its first ACK until it is ready.
 */
export class RunReadiness implements ReadinessWatch {
  /** Resolves when traffic is served for the first time. */
  readonly ready: Promise<void>;
  private readonly admin: Pick<EnvoyAdmin, 'activeListeners'>;
  private readonly onReady: () => void;
  private state: 'unconnected' | 'programmed' | 'ready' = 'unconnected';

  constructor(admin: Pick<EnvoyAdmin, 'activeListeners'>) {
    this.admin = admin;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.onReady = resolve;
  }

  get current(): Readiness {
    if (this.state === 'ready') return { ready: true, reason: '' };
    const reason =
      this.state === 'programmed'
        ? 'waiting for the listeners of Envoy'
        : 'waiting for Envoy to accept the first configuration';
    return { ready: false, reason };
  }

  observe(event: XdsEvent): void {
    if (event.kind !== 'programmed' || this.state !== 'unconnected') return;
    this.state = 'programmed';
    this.poll();
  }

  private poll(): void {
    this.admin.activeListeners().then(
      (active) => {
        if (LISTENERS.every((name) => active.includes(name))) {
          this.state = 'ready';
          this.onReady();
        } else this.pollLater();
      },
      () => this.pollLater(),
    );
  }

  private pollLater(): void {
    setTimeout(() => this.poll(), POLL_MS).unref();
  }
}
