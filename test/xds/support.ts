/** A client of the delta protocol in memory: it speaks to a stream directly and keeps what a proxy would hold. */
import protobuf from 'protobufjs';
import type { Clock } from '../../src/xds/clock.ts';
import type { StreamLimits } from '../../src/xds/limits.ts';
import type { StreamStatus, XdsEvent, XdsObserver } from '../../src/xds/observer.ts';
import { type Resource, type ResourceChange, type TypeUrl, typeUrls } from '../../src/xds/resource.ts';
import type { SnapshotStore } from '../../src/xds/store.ts';
import { type AdsStream, createAdsStream } from '../../src/xds/stream.ts';
import type { ClientNode, DiscoveryRequest } from '../../src/xds/wire.ts';

export const { cluster: CDS, endpoints: EDS, secret: SDS, listener: LDS, routes: RDS, scopedRoutes: SRDS } = typeUrls;

/** Written down once more, independent of the codec under test. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Resource { string version = 1; Any resource = 2; string name = 3; }
  message Response { string system_version_info = 1; repeated Resource resources = 2; string type_url = 4;
    string nonce = 5; repeated string removed_resources = 6; }
  message SemanticVersion { uint32 major_number = 1; uint32 minor_number = 2; uint32 patch = 3; }
  message BuildVersion { SemanticVersion version = 1; }
  message Node { string id = 1; string cluster = 2; bytes metadata = 3; string user_agent_name = 6;
    oneof user_agent_version_type { string user_agent_version = 7; BuildVersion user_agent_build_version = 8; } }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Request { Node node = 1; string type_url = 2; repeated string resource_names_subscribe = 3;
    repeated string resource_names_unsubscribe = 4; map<string, string> initial_resource_versions = 5;
    string response_nonce = 6; Status error_detail = 7; }
`);
const responseType = root.lookupType('Response');
const requestType = root.lookupType('Request');

/** Encodes a request given with the field names of protobufjs (`typeUrl`, `resourceNamesSubscribe`, …). */
export function encodeRequest(request: Record<string, unknown>): Buffer {
  return Buffer.from(requestType.encode(requestType.fromObject(request)).finish());
}

export interface Received {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly systemVersion: string;
  readonly resources: readonly { readonly name: string; readonly version: string; readonly body: string }[];
  readonly removed: readonly string[];
}

export function decodeResponse(bytes: Uint8Array): Received {
  const response = responseType.toObject(responseType.decode(bytes), { arrays: true, defaults: true });
  for (const { resource } of response['resources']) {
    if (resource.typeUrl !== response['typeUrl']) throw new Error(`an Any of type ${resource.typeUrl}`);
  }
  return {
    typeUrl: response['typeUrl'],
    nonce: response['nonce'],
    systemVersion: response['systemVersionInfo'],
    removed: response['removedResources'],
    resources: response['resources'].map(
      ({ name, version, resource }: { name: string; version: string; resource: { value: Buffer } }) => ({
        name,
        version,
        body: Buffer.from(resource.value).toString(),
      }),
    ),
  };
}

/** Time that moves only when told to. */
export class TestClock implements Clock {
  private time = 0;
  private timers: { at: number; callback: () => void }[] = [];
  private queue: (() => void)[] = [];

  now(): number {
    return this.time;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.time + delayMs, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  soon(callback: () => void): void {
    this.queue.push(callback);
  }

  /** Runs what is due now, to the end. */
  run(): void {
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) next();
  }

  /** Number of timers that wait. */
  get waiting(): number {
    return this.timers.length;
  }

  advance(ms: number): void {
    this.run();
    const end = this.time + ms;
    for (;;) {
      const due = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.timers = this.timers.filter((other) => other !== due);
      this.time = Math.max(this.time, due.at);
      due.callback();
      this.run();
    }
    this.time = end;
  }
}

export interface ClientOptions {
  readonly store: SnapshotStore;
  readonly clock: TestClock;
  readonly limits?: Partial<StreamLimits>;
  readonly secretsAllowed?: boolean;
  /** Replies to everything at once. Otherwise the test replies. */
  readonly acknowledges?: boolean;
  readonly observe?: XdsObserver;
}

const defaultNode: ClientNode = {
  id: 'test',
  cluster: 'test',
  userAgent: 'envoy',
  version: { major: 1, minor: 40, patch: 0 },
};

let lastClientId = 0;

export class Client {
  readonly stream: AdsStream;
  readonly responses: Received[] = [];
  readonly arrivedAt = new WeakMap<Received, number>();
  readonly events: XdsEvent[] = [];
  readonly held = new Map<string, Map<string, string>>();
  status: StreamStatus | undefined;
  /** While set, writes are taken by the transport only when `unblock` is called. */
  blocked = false;
  private pendingWrite: (() => void) | undefined;
  private readonly clock: TestClock;
  private readonly acknowledges: boolean;
  private readonly unanswered: Received[] = [];
  private first = true;
  /** How many responses were looked at by `next`. */
  private seen = 0;

  constructor({ store, clock, limits, secretsAllowed = true, acknowledges = false, observe }: ClientOptions) {
    this.clock = clock;
    this.acknowledges = acknowledges;
    this.stream = createAdsStream({
      id: ++lastClientId,
      store,
      clock,
      secretsAllowed,
      ...(limits && { limits }),
      send: (bytes, done) => this.arrive(decodeResponse(bytes), done),
      close: (status) => {
        this.status = status;
      },
      observe: (event) => {
        this.events.push(event);
        observe?.(event);
      },
    });
  }

  request(typeUrl: string, request: Partial<DiscoveryRequest> = {}): this {
    const node = this.first ? { node: defaultNode } : {};
    this.first = false;
    const empty = { subscribe: [], unsubscribe: [], initialVersions: new Map(), nonce: '' };
    this.stream.receive({ ...empty, ...node, typeUrl, ...request });
    this.clock.run();
    return this;
  }

  subscribe(typeUrl: string, ...names: string[]): this {
    return this.request(typeUrl, { subscribe: names });
  }

  unsubscribe(typeUrl: string, ...names: string[]): this {
    return this.request(typeUrl, { unsubscribe: names });
  }

  /** Accepts the oldest response (of a type) that has no reply yet. */
  ack(typeUrl?: string): this {
    const response = this.oldest(typeUrl);
    return this.request(response.typeUrl, { nonce: response.nonce });
  }

  /** Rejects the oldest response (of a type) that has no reply yet. */
  nack(typeUrl?: string, message = 'rejected'): this {
    const response = this.oldest(typeUrl);
    return this.request(response.typeUrl, { nonce: response.nonce, error: { code: 13, message } });
  }

  /** What arrived since the last call, in short: `CDS a b -c` (a and b sent, c removed). */
  next(): string[] {
    const responses = this.responses.slice(this.seen);
    this.seen = this.responses.length;
    return responses.map(inShort);
  }

  names(typeUrl: string): string[] {
    return [...(this.held.get(typeUrl)?.keys() ?? [])].sort();
  }

  unblock(): void {
    this.blocked = false;
    const done = this.pendingWrite;
    this.pendingWrite = undefined;
    done?.();
    this.clock.run();
  }

  get waitingForReply(): readonly Received[] {
    return this.unanswered;
  }

  private oldest(typeUrl: string | undefined): Received {
    const index = this.unanswered.findIndex((response) => typeUrl === undefined || response.typeUrl === typeUrl);
    const [response] = index < 0 ? [] : this.unanswered.splice(index, 1);
    if (response === undefined) throw new Error(`no response waits for a reply: ${typeUrl ?? 'any'}`);
    return response;
  }

  private arrive(response: Received, done: () => void): void {
    if (this.pendingWrite !== undefined) throw new Error('a second write before the first was taken');
    if (this.status !== undefined) throw new Error('a write after the end');
    this.responses.push(response);
    this.arrivedAt.set(response, this.clock.now());
    this.unanswered.push(response);
    const held = this.held.get(response.typeUrl) ?? new Map<string, string>();
    this.held.set(response.typeUrl, held);
    for (const { name, version } of response.resources) held.set(name, version);
    for (const name of response.removed) held.delete(name);
    if (this.blocked) this.pendingWrite = done;
    else this.clock.soon(done);
    if (this.acknowledges) this.clock.soon(() => this.ack(response.typeUrl));
  }
}

const shortNames = new Map<string, string>([
  [CDS, 'CDS'],
  [EDS, 'EDS'],
  [SDS, 'SDS'],
  [LDS, 'LDS'],
  [RDS, 'RDS'],
  [SRDS, 'SRDS'],
]);

function inShort({ typeUrl, resources, removed }: Received): string {
  const names = [...resources.map(({ name }) => name), ...removed.map((name) => `-${name}`)];
  return [shortNames.get(typeUrl) ?? typeUrl, ...names].join(' ');
}

/** A resource whose bytes name it and its version. */
export function resource(name: string, version = '1', more: Partial<Resource> = {}): Resource {
  return { name, version, bytes: () => Buffer.from(`${name}@${version}`), origin: [`ns/${name}`], ...more };
}

/** `put(CDS, 'a', 'b@2', 'c>x')`: a in version 1, b in version 2, c which names the endpoints x. */
export function put(typeUrl: TypeUrl, ...specs: string[]): ResourceChange[] {
  return specs.map((spec) => {
    const [, name = '', version = '1', endpoints] = /^([^@>]+)(?:@([^>]+))?(?:>(.+))?$/.exec(spec) ?? [];
    return { typeUrl, name, resource: resource(name, version, endpoints === undefined ? {} : { endpoints }) };
  });
}

export function remove(typeUrl: TypeUrl, ...names: string[]): ResourceChange[] {
  return names.map((name) => ({ typeUrl, name, resource: undefined }));
}
