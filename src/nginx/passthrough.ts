/** TLS that is passed through: a server of nginx's stream module has the port for HTTPS, and asks each handshake where it wants to go. */
import type { Engine, Reader, Table } from '../derive.ts';
import type { ClusterName, ProxyModel, ServerName } from '../model/proxy-model.ts';
import { serviceInLog } from '../model/stream-log-format.ts';
import type { NginxPassthrough, NginxPassthroughBackend } from './config.ts';
import type { NginxFeatures } from './emit.ts';
import { escapeRegex, Literal, Pattern } from './quote.ts';
import { externalAddress, socketAddress, upstreamName } from './upstream.ts';

/** Why this nginx cannot pass TLS through; `undefined` if it can. */
export function passthroughProblem({
  hasStream,
  hasStreamRealIp,
  hasStreamPreread,
}: NginxFeatures): string | undefined {
  if (!hasStream) return 'this nginx has no stream module (on Debian: libnginx-mod-stream)';
  if (!hasStreamPreread) return 'the stream module of this nginx is built without ssl_preread';
  return hasStreamRealIp ? undefined : 'the stream module of this nginx is built without realip';
}

/** A name that is passed through, or, without a cluster, one under such a wildcard that is not. */
interface LedName {
  readonly name: string;
  readonly cluster?: ClusterName;
}

const HTTPS = 'https';

/**
 * Adds the units. What is returned reads them: `undefined` where no name may be passed through. Where one may, the server in front is
 * there before the first name is: to move the port from one module of nginx to the other cuts connections that are just being opened.
 */
export function passthroughReader(
  engine: Engine,
  { listeners, clusters, endpoints }: ProxyModel,
  { folder, canResolve }: { readonly folder: string; readonly canResolve: (hostname: string) => boolean },
): (read: Reader) => NginxPassthrough | undefined {
  const names = engine.derive<readonly LedName[]>('nginx-passthrough-names', [HTTPS], (listener, read) =>
    ledNames(read(listeners, listener)?.serverNames ?? []),
  );
  const used = engine.group<readonly LedName[]>('nginx-passthrough-clusters', names, (_, led) =>
    led.flatMap(({ cluster }) => (cluster === undefined ? [] : [[cluster, true] as const])),
  );
  const backends: Table<NginxPassthroughBackend> = engine.derive('nginx-passthrough-backend', used, (name, read) => {
    const cluster = read(clusters, name);
    const logName = serviceInLog({ protocol: 'tcp', cluster: name });
    const none = { name: upstreamName(name), logName, addresses: [] };
    if (cluster === undefined) return none;
    if (cluster.kind === 'endpoints')
      return { ...none, addresses: (read(endpoints, cluster.endpoints)?.addresses ?? []).map(socketAddress) };
    if (cluster.kind !== 'dns') return none;
    return canResolve(cluster.hostname) ? { ...none, resolve: externalAddress(cluster) } : none;
  });
  return (read) => {
    if (!read(listeners, HTTPS)?.passesThrough) return undefined;
    const led = read(names, HTTPS) ?? [];
    const byCluster = new Map(
      led.flatMap(({ cluster }) => {
        const backend = cluster === undefined ? undefined : read(backends, cluster);
        return backend === undefined ? [] : [[cluster, backend] as const];
      }),
    );
    return {
      ...passthroughSockets(folder),
      names: led.map(({ name, cluster }) => {
        const backend = byCluster.get(cluster);
        return { key: keyOf(name), ...(backend && { backend }) };
      }),
      backends: [...byCluster.values()],
      hashMaxSize: Math.max(2048, 2 ** Math.ceil(Math.log2(Math.max(1, led.length * 4)))),
    };
  };
}

/** Where nginx listens for connections whose name it has read. */
export function passthroughSockets(folder: string): Pick<NginxPassthrough, 'endedSocket' | 'passedSocket'> {
  return { endedSocket: `${folder}/https.sock`, passedSocket: `${folder}/passthrough.sock` };
}

/** All names that have to be told apart. */
function ledNames(serverNames: readonly ServerName[]): LedName[] {
  const passed = new Map(
    serverNames.flatMap((target) => ('passthrough' in target ? [[target.name, target.passthrough] as const] : [])),
  );
  if (passed.size === 0) return [];
  return serverNames.flatMap(({ name }) => {
    const cluster = passed.get(name);
    if (cluster !== undefined) return [{ name, cluster }];
    return passed.has(`*${name.slice(name.indexOf('.'))}`) ? [{ name }] : [];
  });
}

/** In a `map`, where a word such as `default` needs a mark to be a name. A wildcard stands for one label. */
function keyOf(name: string): Literal | Pattern {
  if (name.startsWith('*.')) return new Pattern(`~*^[^.]+${escapeRegex(name.slice(1))}$`);
  return new Literal(name.includes('.') ? name : `\\${name}`);
}
