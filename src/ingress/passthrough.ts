/**
 * Hosts whose TLS is passed through: connections go to the Service of the path `/` as they are. An Ingress asks for it on behalf of all
 * of the host, in ingress-nginx any; here those of one namespace, so that nobody takes connections and protections from other tenants.
 */
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName, type Passthrough } from '../model/proxy-model.ts';
import { type BackendSources, resolveBackend } from './backend.ts';
import type { Claim } from './conflicts.ts';
import { diagnose } from './diagnose.ts';
import { hostPaths } from './host-paths.ts';
import { byOwnership, canariesOf, type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import { compareAge, hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

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
    if (host === DEFAULT_HOST) return unavailable(host, asking, reason);
    const whyNot = reasonOfOthers(host, ingresses);
    if (whyNot !== undefined) return unavailable(host, asking, whyNot);
    const { winners } = hostPaths(host, ingresses);
    const root = winners.find(({ type, path, closed }) => type === 'prefix' && path === '/' && !closed);
    if (root === undefined) return unavailable(host, asking, `no Ingress has the path / of host ${host}`);
    if (root.ingress.namespace !== ingresses[0]?.namespace) {
      const reason = `the path / of host ${host} is that of Ingress ${root.ingress.key}, in another namespace than the oldest Ingress of the host`;
      return unavailable(host, asking, reason);
    }
    const { ingress, backend, field } = root;
    const { serviceUpstream } = ingress.cluster;
    const policy = serviceUpstream === undefined ? {} : { serviceUpstream };
    const { cluster } = resolveBackend(read, sources, { namespace: ingress.namespace, cluster: policy }, backend);
    if (cluster === undefined) return unavailable(host, asking, `the path / of host ${host} leads to no Service`);
    const passthrough = { cluster, origin: { ingress: ingress.key, field } };
    return { passthrough, diagnostics: reportPaths(host, root, winners, canariesOf(host, read, hosts)) };
  });
}

/** Why those who share the host are not to lose it to TLS that is passed through. Who comes later has nothing to lose. */
function reasonOfOthers(host: HostName, ingresses: readonly ServedIngress[]): string | undefined {
  const { own, foreign } = byOwnership(ingresses);
  const first = own.find((ingress) => ingress.host.passthrough);
  if (first === undefined) {
    return `host ${host} belongs to the namespace of its oldest Ingress, ${own[0]?.key}, and none there asks for ssl-passthrough`;
  }
  const protectedOne = foreign.find((other) => other.protectedBy.length > 0 && compareAge(other, first) < 0);
  return (
    protectedOne &&
    `Ingress ${protectedOne.key}, in another namespace and older than ${first.key}, protects paths of host ${host} (${protectedOne.protectedBy.join(', ')})`
  );
}

function unavailable(host: HostName, asking: readonly ServedIngress[], reason: string): HostPassthrough {
  const message = `${reason}; TLS is ended here`;
  return {
    diagnostics: asking.map(({ key }) => ({
      ...diagnose(objectRef('Ingress', key), 'warning', 'PassthroughUnavailable', message, 'spec.rules'),
      ignored: { annotations: ['ssl-passthrough'], parts: [host], why: reason },
    })),
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
