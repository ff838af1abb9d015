/** Several control planes side by side, told apart in the audit log, and proxies that accept what they get when the test says so. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type ClientDuplexStream, credentials, Client as GrpcClient } from '@grpc/grpc-js';
import { decodeResponse, encodeRequest, type Received } from '../../xds/support.ts';
import type { AuditEntry } from './audit.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { type Account, createAccount } from './permissions.ts';
import { type Product, type ProductOptions, startProduct } from './product.ts';

export interface Replica extends Product {
  /** Its own, called like the replica; all have the same rights. */
  readonly account: Account;
  /** The names and versions of all resources of a type, as `inspect resources TYPE` shows them. */
  inspect(type: string): Promise<unknown>;
  leading(): Promise<boolean>;
  /** Its requests of this kind that changed something: `ingresses/status`. */
  writes(resource: string): readonly AuditEntry[];
  /** All requests that it ever made. */
  requests(): readonly AuditEntry[];
}

export interface ReplicaOptions extends Partial<ProductOptions> {
  readonly name: string;
  /** Where it reaches the API server; default: directly. */
  readonly server?: string;
}

/** Short, so that a leader is replaced within seconds. */
export const ELECTION_TTL_MS = 4_000;

let healthPort = 10_300;

/** `serve`, unless told otherwise. Does not wait for it to be ready. */
async function startReplica(cluster: Cluster, options: ReplicaOptions): Promise<Replica> {
  const { name, server, args = [] } = options;
  const account = options.account ?? (await createAccount(cluster, { name, ...(server !== undefined && { server }) }));
  const debugSocket = `${cluster.folder}/${name}-debug.sock`;
  const product = startProduct(cluster, {
    command: 'serve',
    healthPort: healthPort++,
    ...options,
    account,
    args: ['--election-ttl', `${ELECTION_TTL_MS}ms`, '--debug-socket', debugSocket, ...args],
  });
  const requests = () => cluster.audit(account.user);
  return {
    ...product,
    account,
    inspect: (type) => getJson(debugSocket, `/debug/resources?type=${type}`),
    leading: async () => (await product.metrics()).sum('nginx_ingress_controller_leader_election_status') === 1,
    writes: (resource) =>
      requests().filter(
        (entry) => entry.resource === resource && isWrite(entry.verb) && entry.status >= 200 && entry.status < 300,
      ),
    requests,
  };
}

async function getJson(socketPath: string, path: string): Promise<unknown> {
  const outgoing = get({ socketPath, path });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return await json(response);
}

/** What one test starts, ended together. */
export interface Fleet {
  /** Resolves when it is ready. */
  start(options: ReplicaOptions): Promise<Replica>;
  /** Resolves when it leads, too. */
  startLeader(options: ReplicaOptions): Promise<Replica>;
  proxyOf(replica: Replica): TestProxy;
  /** Run by `end`, the last first. */
  defer(cleanup: () => unknown): void;
  /** Kills what runs, and removes the Lease. */
  end(): Promise<void>;
}

export const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ingress-nginx/leases/ingress-controller-leader';

/** @param args of every replica */
export function createFleet(cluster: Cluster, args: readonly string[] = []): Fleet {
  const cleanups: (() => unknown)[] = [];
  const start = async (options: ReplicaOptions) => {
    const replica = await startReplica(cluster, { ...options, args: [...args, ...(options.args ?? [])] });
    cleanups.push(() => replica.stop('SIGKILL'));
    await replica.ready();
    return replica;
  };
  return {
    start,
    startLeader: async (options) => {
      const replica = await start(options);
      await leads(replica);
      return replica;
    },
    proxyOf: (replica) => {
      const made = connectTestProxy(replica);
      cleanups.push(made.close);
      return made;
    },
    defer: (cleanup) => cleanups.push(cleanup),
    end: async () => {
      for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
      await cluster.api.send('DELETE', LEASE);
    },
  };
}

export async function leads(replica: Replica): Promise<void> {
  await eventually(`${replica.name} leads`, replica.leading, { describe: replica.log });
}

/** The names of the Ingresses of a namespace whose status it wrote, one for each write. */
export function statusWrites(where: string, ...replicas: readonly Replica[]): readonly string[] {
  const entries = replicas.flatMap((replica) => replica.writes('ingresses/status'));
  return entries.flatMap(({ namespace, name = '' }) => (namespace === where ? [name] : [])).toSorted();
}

function isWrite(verb: string): boolean {
  return ['create', 'update', 'patch', 'delete'].includes(verb);
}

export interface TestProxy {
  /** Until the next `accept` nothing is acknowledged any more. */
  hold(): void;
  /** Acknowledges what is held, and what comes. */
  accept(): void;
  /** Rejects what is held. */
  reject(): void;
  /** Whether some response had this in a resource. */
  hasReceived(text: string): boolean;
  close(): void;
}

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const PREFIX = 'type.googleapis.com/envoy.config';
/** Without endpoints: these change with the pods, not with Ingresses. */
const TYPES = [
  `${PREFIX}.cluster.v3.Cluster`,
  `${PREFIX}.listener.v3.Listener`,
  `${PREFIX}.route.v3.RouteConfiguration`,
];

/** Takes the place of an Envoy at the socket of `serve`. Acknowledges everything at first. */
function connectTestProxy({ xdsSocket }: Pick<Product, 'xdsSocket'>, id = 'test-proxy'): TestProxy {
  const client = new GrpcClient(`unix:${xdsSocket}`, credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const call: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(METHOD, same, same);
  // The control plane may end first.
  call.on('error', () => {});
  let holding = false;
  let received = '';
  const held: Received[] = [];
  const send = (request: Record<string, unknown>) => void call.write(encodeRequest(request));
  const reply = (more: Record<string, unknown> = {}) => {
    for (const { typeUrl, nonce } of held.splice(0)) send({ typeUrl, responseNonce: nonce, ...more });
  };
  call.on('data', (bytes: Buffer) => {
    const response = decodeResponse(bytes);
    for (const { body } of response.resources) received += body;
    held.push(response);
    if (!holding) reply();
  });
  const node = {
    id,
    cluster: 'test',
    userAgentName: 'envoy',
    userAgentBuildVersion: { version: { majorNumber: 1, minorNumber: 40 } },
  };
  for (const typeUrl of TYPES) send({ node, typeUrl, resourceNamesSubscribe: ['*'] });
  return {
    hold: () => {
      holding = true;
    },
    accept: () => {
      holding = false;
      reply();
    },
    reject: () => reply({ errorDetail: { code: 13, message: 'the test rejects it' } }),
    hasReceived: (text) => received.includes(text),
    close: () => {
      call.cancel();
      client.close();
    },
  };
}
