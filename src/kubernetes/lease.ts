/**
 * Which replica leads: a Lease (coordination.k8s.io/v1), held and renewed as client-go does it, so that ingress-nginx and others can
 * hold the same one before and after. Time stamps in the Lease are for people; what counts is when this process saw a change.
 */
import type { KubernetesClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { KubernetesStatusError } from './errors.ts';

export interface LeaderElection {
  start(): void;
  /** False from the moment on at which another replica might lead. */
  readonly leading: boolean;
  /**
   * The identity in the Lease as it is now, whether or not its time is up; empty when there is none.
   * @throws KubernetesUnreachable, KubernetesStatusError
   */
  holder(): Promise<string>;
  /** Gives the leadership up, so that another replica need not wait for its end. Takes a few seconds at most; never rejects. */
  stop(): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the replicas: the name of the pod. */
  readonly identity: string;
  /** How long a holder counts after it was last seen to renew. */
  readonly leaseMs: number;
  readonly onChange: (leading: boolean) => void;
  /** Why this replica cannot take part, in words; told once until something else is wrong. */
  readonly onProblem: (message: string) => void;
  readonly clock?: Clock;
}

/** `--disable-leader-election`: every replica leads. */
export function createSoleLeader({ onChange }: Pick<LeaderElectionOptions, 'onChange'>): LeaderElection {
  let leading = false;
  const set = (next: boolean) => {
    if (leading === next) return;
    leading = next;
    onChange(next);
  };
  return {
    start: () => set(true),
    get leading() {
      return leading;
    },
    holder: async () => '',
    stop: async () => set(false),
  };
}

export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  return new LeaseElection(options);
}

/** As far as it is read; written back with everything else that was in it. */
interface Lease {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: LeaseSpec;
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/** How long a leader goes on without a renewal, as a part of the lease: the rest is for what it has under way. */
const DEADLINE_PART = 1 / 2;
/** How often a leader renews, and others look. */
const RETRY_PART = 1 / 4;
/** Jitter, as a part of the pause. */
const JITTER = 0.2;
/** For each request at the end of the process. */
const RELEASE_TIMEOUT_MS = 2_000;
const RELEASE_ATTEMPTS = 3;

class LeaseElection implements LeaderElection {
  private readonly options: LeaderElectionOptions;
  private readonly clock: Clock;
  private readonly collection: string;
  private readonly path: string;
  private readonly deadlineMs: number;
  private readonly retryMs: number;
  private readonly ending = new AbortController();
  private lease: Lease | undefined;
  /** What was in the Lease when it was last seen to change, and when that was. */
  private observed: string | undefined;
  private observedAt = 0;
  private told = false;
  private leadsUntil = 0;
  private problem = '';
  private cancelDeadline = () => {};
  private cancelRound = () => {};
  private round: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectionOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.collection = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
    this.path = `${this.collection}/${options.name}`;
    this.deadlineMs = options.leaseMs * DEADLINE_PART;
    this.retryMs = options.leaseMs * RETRY_PART;
  }

  get leading(): boolean {
    // Also right when the timer is late, because the process was stopped for a while.
    return this.told && this.clock.now() < this.leadsUntil;
  }

  async holder(): Promise<string> {
    const { client } = this.options;
    const { status, headers, body } = await client.request('GET', this.path, { timeoutMs: RELEASE_TIMEOUT_MS });
    if (status === 404) return '';
    if (status !== 200) throw new KubernetesStatusError(status, body, headers);
    return (body as Lease).spec?.holderIdentity ?? '';
  }

  start(): void {
    this.round = this.compete();
  }

  async stop(): Promise<void> {
    const held = this.told;
    this.ending.abort();
    this.cancelRound();
    this.stepDown();
    await this.round;
    if (held) await this.release().catch(() => {});
  }

  /** One look at the Lease, and the appointment for the next. */
  private async compete(): Promise<void> {
    let delayMs: number;
    try {
      await this.acquireOrRenew();
      this.problem = '';
      delayMs = this.told ? this.retryMs : this.nextLookMs();
    } catch (error) {
      if (this.ending.signal.aborted) return;
      this.report(error);
      const denied = error instanceof KubernetesStatusError && error.status === 403;
      // A leader has to get through before its time is up. What nobody has granted is not granted within seconds.
      if (this.told) delayMs = this.retryMs / 4;
      else delayMs = this.jittered(denied ? this.options.leaseMs : this.retryMs);
    }
    if (this.ending.signal.aborted) return;
    this.cancelRound = this.clock.after(delayMs, () => {
      this.round = this.compete();
    });
  }

  /** @throws KubernetesUnreachable, KubernetesStatusError */
  private async acquireOrRenew(): Promise<void> {
    if (this.told && this.lease !== undefined && (await this.write(this.lease))) return;
    const { status, headers, body } = await this.request('GET', this.path);
    if (status === 404) {
      await this.create();
      return;
    }
    if (status !== 200) throw new KubernetesStatusError(status, body, headers);
    const lease = body as Lease;
    this.observe(lease);
    const holder = lease.spec?.holderIdentity ?? '';
    if (holder !== '' && holder !== this.options.identity) {
      this.stepDown();
      if (this.clock.now() < this.heldUntil()) return;
    }
    await this.write(lease);
  }

  /** Puts this replica into the Lease; false when it has changed meanwhile. */
  private async write(lease: Lease): Promise<boolean> {
    const sentAt = this.clock.now();
    const body = { ...lease, spec: { ...lease.spec, ...this.claim(lease.spec) } };
    const response = await this.request('PUT', this.path, body);
    if (response.status === 409 || response.status === 404) return false;
    if (response.status !== 200) throw new KubernetesStatusError(response.status, response.body, response.headers);
    this.lead(response.body as Lease, sentAt);
    return true;
  }

  private async create(): Promise<void> {
    const { namespace, name } = this.options;
    const sentAt = this.clock.now();
    const response = await this.request('POST', this.collection, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name },
      spec: this.claim(undefined),
    });
    if (response.status === 409) return;
    if (response.status !== 201) throw new KubernetesStatusError(response.status, response.body, response.headers);
    this.lead(response.body as Lease, sentAt);
  }

  private claim(former: LeaseSpec | undefined): LeaseSpec {
    const { identity, leaseMs } = this.options;
    const now = microTime(this.clock.date());
    const transitions = former?.leaseTransitions ?? 0;
    const common = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(leaseMs / 1000)),
      renewTime: now,
    };
    if (former?.holderIdentity === identity) return { ...common, leaseTransitions: transitions };
    return { ...common, acquireTime: now, leaseTransitions: former === undefined ? 0 : transitions + 1 };
  }

  /** The Lease was written with this replica in it, by a request that was sent at `sentAt`: others count from a later moment. */
  private lead(lease: Lease, sentAt: number): void {
    this.observe(lease);
    const remainingMs = sentAt + this.deadlineMs - this.clock.now();
    if (remainingMs <= 0 || this.ending.signal.aborted) return;
    this.leadsUntil = sentAt + this.deadlineMs;
    this.cancelDeadline();
    this.cancelDeadline = this.clock.after(remainingMs, () => this.stepDown());
    if (this.told) return;
    this.told = true;
    this.options.onChange(true);
  }

  private stepDown(): void {
    this.cancelDeadline();
    this.leadsUntil = 0;
    if (!this.told) return;
    this.told = false;
    this.options.onChange(false);
  }

  private observe(lease: Lease): void {
    this.lease = lease;
    const record = JSON.stringify(lease.spec ?? {});
    if (record === this.observed) return;
    this.observed = record;
    this.observedAt = this.clock.now();
  }

  /** When the holder that was seen counts no longer; the duration is the one that it promised. */
  private heldUntil(): number {
    const seconds = this.lease?.spec?.leaseDurationSeconds ?? 0;
    return this.observedAt + (seconds > 0 ? seconds * 1000 : this.options.leaseMs);
  }

  private nextLookMs(): number {
    const untilFreeMs = this.heldUntil() - this.clock.now();
    return Math.max(this.retryMs / 4, Math.min(this.jittered(this.retryMs), untilFreeMs + 1));
  }

  private jittered(delayMs: number): number {
    return delayMs * (1 + JITTER * this.clock.random());
  }

  /**
   * ingress-nginx lets its lease run out. Giving it up saves a rolling update those 30 seconds without a leader; another controller
   * on the same Lease understands the empty holder, since client-go can do this too.
   */
  private async release(): Promise<void> {
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt++) {
      // Read anew, since a renewal that was broken off may have been written all the same.
      const { status, body } = await this.options.client.request('GET', this.path, { timeoutMs: RELEASE_TIMEOUT_MS });
      const lease = body as Lease;
      if (status !== 200 || lease.spec?.holderIdentity !== this.options.identity) return;
      const now = microTime(this.clock.date());
      const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
      const answer = await this.options.client.request('PUT', this.path, {
        body: { ...lease, spec },
        timeoutMs: RELEASE_TIMEOUT_MS,
      });
      if (answer.status !== 409) return;
    }
  }

  private async request(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) {
    return await this.options.client.request(method, path, {
      ...(body !== undefined && { body }),
      // A leader gets a second try before its time is up.
      timeoutMs: this.told ? this.retryMs / 2 : this.retryMs,
      signal: this.ending.signal,
    });
  }

  private report(error: unknown): void {
    const { namespace, name } = this.options;
    const kind = error instanceof KubernetesStatusError ? `${error.status}` : 'unreachable';
    if (kind === this.problem) return;
    this.problem = kind;
    const reason = error instanceof Error ? error.message : String(error);
    const advice =
      kind === '403' ? '; grant get, create and update on leases (coordination.k8s.io) in this namespace' : '';
    this.options.onProblem(`Lease ${namespace}/${name}: no part in the leader election: ${reason}${advice}`);
  }
}

/** Kubernetes' MicroTime has exactly six digits of a second. */
function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
