import type { Readiness } from '../console/health.ts';
import type { EnvoyAdmin } from '../envoy/admin.ts';
import type { XdsEvent } from '../xds/observer.ts';

/** Listeners of HTTP and HTTPS. */
const LISTENERS = 2;
const POLL_MS = 20;

/**
 * Whether Envoy serves what the control plane has: it has accepted everything once, and its listeners take connections.
 * Envoy is asked at most every 20 ms, from its first ACK until it is ready.
 */
export class RunReadiness {
  /** Resolves when traffic is served for the first time. */
  readonly ready: Promise<void>;
  private readonly admin: Pick<EnvoyAdmin, 'listenersActive'>;
  private readonly onReady: () => void;
  private state: 'unconnected' | 'programmed' | 'ready' = 'unconnected';

  constructor(admin: Pick<EnvoyAdmin, 'listenersActive'>) {
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
    this.admin.listenersActive().then(
      (active) => {
        if (active >= LISTENERS) {
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
