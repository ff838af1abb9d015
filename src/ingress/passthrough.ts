/**
 * Hosts whose TLS is passed through: connections go to the Service of the path `/` as they are. As in ingress-nginx any Ingress of the
 * host asks for it on behalf of all.
 */
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName, type Passthrough } from '../model/proxy-model.ts';
import { type BackendSources, resolveBackend } from './backend.ts';
import type { Claim } from './conflicts.ts';
import { diagnose } from './diagnose.ts';
import { hostPaths } from './host-paths.ts';
import { canariesOf, type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import { hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

export interface HostPassthrough {
  /** Absent where there is nowhere to go: the host is served like others. */
  readonly passthrough?: Passthrough;
  readonly diagnostics: readonly Diagnostic[];
}

/** Unit per host of an Ingress that asks for it, so that the others cost nothing. */
export function derivePassthrough(engine: Engine, hosts: HostIndex, sources: BackendSources): Table<HostPassthrough> {
  const wanted = engine.group<IngressDecision>('passthrough-hosts', hosts.servedIngresses, (_, { served }) =>
    served?.host.passthrough ? [...hostsOf(served)].map((host) => [host, true]) : [],
  );
  return engine.derive<HostPassthrough>('passthrough', wanted, (host, read) => {
    const ingresses = ingressesOf(host, read, hosts);
    const asking = ingresses.filter((ingress) => ingress.host.passthrough);
    const reason = 'TLS can be passed through by the name of a host alone, and this rule has none';
    if (host === DEFAULT_HOST) return unavailable(asking, reason);
    const { winners } = hostPaths(host, ingresses);
    const root = winners.find(({ type, path, closed }) => type === 'prefix' && path === '/' && !closed);
    if (root === undefined) return unavailable(asking, `no Ingress has the path / of host ${host}`);
    const { ingress, backend, field } = root;
    const { serviceUpstream } = ingress.cluster;
    const policy = serviceUpstream === undefined ? {} : { serviceUpstream };
    const { cluster } = resolveBackend(read, sources, { namespace: ingress.namespace, cluster: policy }, backend);
    if (cluster === undefined) return unavailable(asking, `the path / of host ${host} leads to no Service`);
    const passthrough = { cluster, origin: { ingress: ingress.key, field } };
    return { passthrough, diagnostics: reportPaths(host, root, winners, canariesOf(host, read, hosts)) };
  });
}

function unavailable(asking: readonly ServedIngress[], reason: string): HostPassthrough {
  const message = `${reason}; TLS is ended here`;
  return {
    diagnostics: asking.map(({ key }) =>
      diagnose(objectRef('Ingress', key), 'warning', 'PassthroughUnavailable', message, 'spec.rules'),
    ),
  };
}

/** Those whose paths only requests without TLS reach. */
function reportPaths(
  host: HostName,
  root: Claim,
  winners: readonly Claim[],
  canaries: readonly ServedIngress[],
): Diagnostic[] {
  const service = root.backend.service?.name;
  const message = `TLS of host ${host} is passed through to Service ${root.ingress.namespace}/${service} whatever the path, so this is for requests over plain HTTP alone`;
  const others = new Map<ObjectKey, string>();
  for (const { ingress, field } of winners.filter((claim) => claim !== root)) {
    if (!others.has(ingress.key)) others.set(ingress.key, field);
  }
  for (const { key } of canaries) others.set(key, 'spec.rules');
  return [...others].map(([key, field]) =>
    diagnose(objectRef('Ingress', key), 'warning', 'PassthroughIgnores', message, field),
  );
}
