import type { Readiness } from '../console/health.ts';
import { answers } from './answers.ts';
import type { ReadinessWatch } from './readiness.ts';

const POLL_MS = 20;

/** Whether nginx serves what the control plane has: it has got everything once, and its ports take connections. */
export class NginxReadiness implements ReadinessWatch {
  readonly ready: Promise<void>;
  private readonly ports: readonly number[];
  private readonly onReady: () => void;
  private state: 'waiting' | 'started' | 'ready' = 'waiting';

  constructor(ports: readonly number[]) {
    this.ports = ports;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.onReady = resolve;
  }

  get current(): Readiness {
    if (this.state === 'ready') return { ready: true, reason: '' };
    const reason =
      this.state === 'started' ? 'waiting for the ports of nginx' : 'waiting for nginx to take the first configuration';
    return { ready: false, reason };
  }

  observe(): void {}

  /** nginx runs, and has got what is changed at run time. */
  proxyStarted(): void {
    if (this.state !== 'waiting') return;
    this.state = 'started';
    void this.poll();
  }

  private async poll(): Promise<void> {
    const open = await Promise.all(this.ports.map((port) => answers({ port, host: '127.0.0.1' })));
    if (open.every((isOpen) => isOpen)) {
      this.state = 'ready';
      this.onReady();
    } else setTimeout(() => void this.poll(), POLL_MS).unref();
  }
}
