/** One discovery stream, in either variant, without its transport: requests in, responses out, in the right order. */
import { type Rejection, TypeChannel } from './channel.ts';
import { refusalOf } from './client-version.ts';
import type { Client } from './clients.ts';
import type { Clock } from './clock.ts';
import { Gates } from './gates.ts';
import { defaultStreamLimits, type StreamLimits } from './limits.ts';
import type { RejectedResource, StreamDescription, StreamId, StreamStatus, XdsObserver } from './observer.ts';
import { typeUrls } from './resource.ts';
import { secretsOf } from './secret-access.ts';
import { sendRank } from './send-order.ts';
import type { Commit, SnapshotStore, StoredResource, TypeSnapshot } from './store.ts';
import type { Batch } from './subscription.ts';
import { deltaVariant, type Variant } from './variant.ts';
import type { ClientNode, DiscoveryRequest } from './wire.ts';

export interface AdsStreamOptions {
  readonly id: StreamId;
  readonly store: SnapshotStore;
  /** Writes one encoded response. `done` is called when the transport has taken it; until then nothing more is written. */
  send(bytes: Uint8Array, done: () => void): void;
  /** Ends the stream with a gRPC status; called at most once, and not after `AdsStream.close`. */
  close(status: StreamStatus): void;
  readonly clock: Clock;
  readonly observe: XdsObserver;
  /** Whether private keys may go over this transport. */
  readonly secretsAllowed: boolean;
  /** Who asks; absent where nobody had to prove it. */
  readonly client?: Client;
  readonly limits?: Partial<StreamLimits>;
  /** Default: delta. */
  readonly variant?: Variant;
  /** The only type that may be asked for; absent: any. */
  readonly onlyType?: string;
}

export interface AdsStream {
  readonly id: StreamId;
  /** The commit up to which the client has accepted everything that it accepts at all; 0 until it has asked for clusters and listeners. */
  readonly programmedSeq: number;
  /** How many names of a type the client asks for now. */
  subscribed(typeUrl: string): number;
  describe(): StreamDescription;
  receive(request: DiscoveryRequest): void;
  /** The client will say nothing more: what can be sent without its replies is sent, then the stream ends well. */
  endInput(): void;
  /** The transport is gone: nothing is sent any more. */
  close(): void;
  /** Sends nothing new, waits for the replies that are under way, then ends the stream as unavailable. */
  finish(): void;
}

/** gRPC status codes that streams end with. */
export const statusCodes = {
  ok: 0,
  invalidArgument: 3,
  permissionDenied: 7,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Makes a stream that follows the store until it is closed. */
export function createAdsStream(options: AdsStreamOptions): AdsStream {
  return new DiscoveryStream(options);
}

const NEVER = Number.POSITIVE_INFINITY;

const nothing: TypeSnapshot = { get: () => undefined, names: () => [] };

class DiscoveryStream implements AdsStream {
  readonly id: StreamId;
  programmedSeq = 0;
  private readonly options: AdsStreamOptions;
  private readonly limits: StreamLimits;
  private readonly variant: Variant;
  private readonly openedAt: number;
  private readonly gates: Gates;
  private readonly unsubscribe: () => void;
  /** In the order in which types are sent. */
  private channels: TypeChannel[] = [];
  private closed = false;
  private finishing = false;
  private inputEnded = false;
  private identified = false;
  private node: ClientNode | undefined;
  /** Type URL → why its last rejected response was rejected, until nothing of the type is rejected any more. */
  private readonly rejections = new Map<string, string>();
  /** Endpoints of clusters sent before the client asked for any endpoints. */
  private earlyEndpoints: Set<string> | undefined = new Set();
  private writing = false;
  private turnScheduled = false;
  private lastOrder = 0;
  private cancelWake = () => {};
  private cancelStall = () => {};

  constructor(options: AdsStreamOptions) {
    this.id = options.id;
    this.options = options;
    this.variant = options.variant ?? deltaVariant;
    this.limits = { ...defaultStreamLimits, ...options.limits };
    this.openedAt = options.clock.now();
    this.gates = new Gates(this.limits, this.openedAt);
    this.unsubscribe = options.store.subscribe((commit) => this.commit(commit));
  }

  subscribed(typeUrl: string): number {
    return this.channel(typeUrl)?.size ?? 0;
  }

  describe(): StreamDescription {
    const types = this.channels.map((channel) => {
      const rejection = this.rejections.get(channel.typeUrl);
      const { typeUrl, size: names, awaitsReply, pending } = channel;
      return { typeUrl, names, awaitsReply, pending, ...(rejection !== undefined && { rejection }) };
    });
    const { id, variant, node, programmedSeq } = this;
    const { client } = this.options;
    const who = { ...(node && { node }), ...(client && { client: client.name }) };
    return { id, variant: variant.name, ...who, programmedSeq, types };
  }

  receive(received: DiscoveryRequest): void {
    if (this.closed) return;
    const { onlyType } = this.options;
    // Where a service has one type only, requests need not name it.
    const request = received.typeUrl === '' && onlyType !== undefined ? { ...received, typeUrl: onlyType } : received;
    const refusal = this.identify(request) ?? this.refuse(request);
    if (refusal !== undefined) {
      this.end(refusal);
      return;
    }
    const channel = this.channel(request.typeUrl) ?? this.openChannel(request.typeUrl);
    const isVoid = this.variant.staleRequestsAreVoid && channel.isStale(request.nonce);
    if (request.nonce !== '') this.reply(channel, request);
    if (!isVoid && channel.request(request)) this.begin(channel, request);
    this.scheduleTurn();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.unsubscribe();
    this.cancelWake();
    this.cancelStall();
  }

  endInput(): void {
    this.inputEnded = true;
    this.scheduleTurn();
  }

  finish(): void {
    this.finishing = true;
    this.scheduleTurn();
  }

  private end(status: StreamStatus): void {
    if (this.closed) return;
    this.close();
    this.options.close(status);
  }

  /** The first request says who asks; what later ones say of it is not looked at. */
  private identify({ node }: DiscoveryRequest): StreamStatus | undefined {
    if (this.identified) return undefined;
    this.identified = true;
    this.node = node;
    this.options.observe({ kind: 'identified', stream: this.id, node });
    const refusal = refusalOf(node);
    return refusal === undefined ? undefined : { code: statusCodes.failedPrecondition, message: refusal };
  }

  private refuse({ typeUrl }: DiscoveryRequest): StreamStatus | undefined {
    const { onlyType } = this.options;
    if (typeUrl === '') return { code: statusCodes.invalidArgument, message: 'the request has no type_url' };
    if (onlyType !== undefined && typeUrl !== onlyType) {
      return { code: statusCodes.invalidArgument, message: `this service has ${onlyType} only, not ${typeUrl}` };
    }
    if (this.withholds(typeUrl) && this.channels.length === 0) {
      const message = 'secrets are served over Unix sockets and mutual TLS only: this connection is not encrypted';
      return { code: statusCodes.permissionDenied, message };
    }
    return undefined;
  }

  /**
   * Private keys do not go over every transport. Who asks for them first is refused. An Envoy asks for other types first, and
   * they are worth having without the keys: to it no secret exists, so that it goes on at once.
   */
  private withholds(typeUrl: string): boolean {
    return typeUrl === typeUrls.secret && !this.options.secretsAllowed;
  }

  private channel(typeUrl: string): TypeChannel | undefined {
    return this.channels.find((channel) => channel.typeUrl === typeUrl);
  }

  private openChannel(typeUrl: string): TypeChannel {
    const subscription = this.variant.createSubscription(typeUrl, this.view(typeUrl));
    const channel = new TypeChannel(typeUrl, this.options.store, subscription);
    this.channels.push(channel);
    this.channels.sort((a, b) => sendRank(a.typeUrl) - sendRank(b.typeUrl));
    return channel;
  }

  /** What exists to this client. */
  private view(typeUrl: string): TypeSnapshot {
    const { id: stream, options } = this;
    const { store, client, observe } = options;
    if (this.withholds(typeUrl)) {
      observe({ kind: 'withheld', stream, typeUrl });
      return nothing;
    }
    const view = store.view(typeUrl);
    if (typeUrl !== typeUrls.secret || client?.namespaces === undefined) return view;
    return secretsOf(view, client.namespaces, (namespace) =>
      observe({
        kind: 'withheldNamespace',
        stream,
        client: client.name,
        ...(namespace !== undefined && { namespace }),
      }),
    );
  }

  private begin(channel: TypeChannel, { initialVersions }: DiscoveryRequest): void {
    if (channel.typeUrl === typeUrls.endpoints) {
      // Envoy asks for clusters first, unless one of them warms: that one waits for endpoints of which Envoy has a version.
      const isWarming = this.channel(typeUrls.cluster) === undefined;
      const wanted = isWarming ? initialVersions.keys() : (this.earlyEndpoints ?? []);
      for (const name of wanted) channel.sendAgain(name);
      this.earlyEndpoints = undefined;
    }
    this.gates.begin(channel, initialVersions.size > 0);
  }

  private reply(channel: TypeChannel, { nonce, error, typeUrl }: DiscoveryRequest): void {
    const rejection = error && channel.reject(nonce, error.message);
    const response = error === undefined ? channel.acknowledge(nonce) : rejection?.response;
    if (response === undefined) return;
    const { clock, observe } = this.options;
    const event = { stream: this.id, typeUrl, nonce, latencyMs: clock.now() - response.sentAt };
    if (error === undefined || rejection === undefined) observe({ kind: 'ack', ...event });
    else {
      const resources = this.rejectedResources(typeUrl, rejection);
      observe({ kind: 'nack', ...event, ...error, resources, divided: rejection.divided });
    }
    if (error !== undefined) this.rejections.set(typeUrl, error.message);
    else if (!channel.rejects) this.rejections.delete(typeUrl);
    this.gates.replied(channel, response, error === undefined);
  }

  private rejectedResources(typeUrl: string, { response, refused }: Rejection): RejectedResource[] {
    return [...response.versions].flatMap(([name, version]) => {
      if (!refused.has(name)) return [];
      const current = this.options.store.get(typeUrl, name);
      return [{ name, version, origin: current?.version === version ? current.origin() : [] }];
    });
  }

  private commit({ seq, types }: Commit): void {
    const now = this.options.clock.now();
    for (const channel of this.channels) {
      const change = types.get(channel.typeUrl);
      if (change === undefined) continue;
      // A client drops endpoints and secrets by itself once nothing names them, usually before this time is over.
      const notBefore = channel.typeUrl === typeUrls.cluster ? now : now + this.limits.gateMs;
      channel.commit(seq, change, notBefore);
    }
    this.scheduleTurn();
  }

  private scheduleTurn(): void {
    if (this.turnScheduled || this.closed) return;
    this.turnScheduled = true;
    this.options.clock.soon(() => {
      this.turnScheduled = false;
      this.turn();
    });
  }

  /** Sends the next response that may be sent, or waits for what is missing. */
  private turn(): void {
    if (this.closed) return;
    if (this.finishing) this.endWhenQuiet();
    else if (this.options.store.ready && !this.writing) {
      this.sendNext();
      if (this.inputEnded && !this.writing) this.end({ code: statusCodes.ok, message: 'everything was sent' });
    }
    this.reportProgress();
  }

  private endWhenQuiet(): void {
    if (this.writing || this.channels.some((channel) => channel.awaitsReply)) return;
    this.end({ code: statusCodes.unavailable, message: 'the control plane is shutting down' });
  }

  private sendNext(): void {
    const now = this.options.clock.now();
    let wakeAt = NEVER;
    for (const channel of this.channels) {
      channel.resync(this.openedAt + this.limits.gateMs);
      wakeAt = Math.min(
        wakeAt,
        channel.releaseRemovals((seq) => this.haveRemoved(channel.parents, seq), now),
      );
      if (!channel.pending) continue;
      const openAt = this.gates.openAt(channel);
      const batch = openAt <= now ? channel.take(this.limits.maxResponseBytes, this.maySend) : undefined;
      if (batch !== undefined) {
        this.send(channel, batch, now);
        return;
      }
      // Nothing was left to say, which removals of types before it may have waited for.
      if (!channel.pending) this.scheduleTurn();
      // The gate for listeners is open as a rule, but one that leads to a cluster by itself may wait behind it.
      const nextAt = openAt > now || channel.typeUrl !== typeUrls.listener ? openAt : this.gates.clustersReadyAt();
      if (nextAt > now) wakeAt = Math.min(wakeAt, nextAt);
    }
    this.wake(wakeAt, now);
  }

  /**
   * Make before break: what leads requests to routes changes only when the client has these routes, and what leads connections to
   * a cluster by itself waits for clusters as routes do.
   */
  private readonly maySend = ({ routes, leadsToClusters }: StoredResource, isNew: boolean): boolean => {
    if (leadsToClusters && this.gates.clustersReadyAt() > this.options.clock.now()) return false;
    return isNew || routes === undefined || this.channel(typeUrls.routes)?.hasAccepted(routes) === true;
  };

  private haveRemoved(parents: readonly string[], seq: number): boolean {
    return this.channels.every((channel) => !parents.includes(channel.typeUrl) || channel.hasRemoved(seq));
  }

  private send(channel: TypeChannel, batch: Batch, now: number): void {
    const { store, observe } = this.options;
    const { typeUrl } = channel;
    const superseding = channel.awaitsReply;
    const response = channel.sent(++this.lastOrder, batch, now);
    const { nonce } = response;
    const resources = [...batch.resources, ...batch.unchanged];
    const systemVersion = store.systemVersion(typeUrl);
    const bytes = this.variant.encode({ systemVersion, typeUrl, nonce, resources, removed: batch.removed });
    const names = resources.map(({ name }) => name);
    const overtakes = this.gates.sent(channel, batch, response);
    if (typeUrl === typeUrls.cluster) this.sendEndpointsAgain(batch.resources);
    const event = { stream: this.id, typeUrl };
    observe({ kind: 'response', ...event, nonce, names, removed: batch.removed, bytes: bytes.length, superseding });
    if (overtakes) observe({ kind: 'gateTimeout', ...event });
    this.write(bytes);
  }

  private write(bytes: Uint8Array): void {
    const stalled = { code: statusCodes.unavailable, message: 'the client does not read' };
    this.writing = true;
    this.cancelStall = this.options.clock.after(this.limits.writeStallMs, () => this.end(stalled));
    this.options.send(bytes, () => {
      this.writing = false;
      this.cancelStall();
      this.scheduleTurn();
    });
  }

  /** An added or changed cluster waits for its endpoints, but Envoy does not ask again for a name it already watches. */
  private sendEndpointsAgain(clusters: readonly StoredResource[]): void {
    const channel = this.channel(typeUrls.endpoints);
    for (const { endpoints } of clusters) {
      if (endpoints === undefined) continue;
      if (channel === undefined) this.earlyEndpoints?.add(endpoints);
      else channel.sendAgain(endpoints);
    }
  }

  private wake(at: number, now: number): void {
    this.cancelWake();
    if (at === NEVER) return;
    this.cancelWake = this.options.clock.after(at - now, () => this.scheduleTurn());
  }

  private reportProgress(): void {
    const asked = [typeUrls.cluster, typeUrls.listener].every((typeUrl) => this.channel(typeUrl) !== undefined);
    if (this.closed || !asked) return;
    const seq = Math.min(...this.channels.map((channel) => channel.settledSeq));
    if (seq <= this.programmedSeq) return;
    this.programmedSeq = seq;
    this.options.observe({ kind: 'programmed', stream: this.id, seq });
  }
}
