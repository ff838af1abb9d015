/** Canaries: Ingresses that take a part of the requests of others. They are served through those, never by themselves. */
import type { Engine, Reader, Table } from '../derive.ts';
import type { Canary } from '../model/canary.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import { type ClusterPolicy, type ClusterReference, DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import { type BackendSources, reportBackend, resolveBackend } from './backend.ts';
import { byScheme } from './by-scheme.ts';
import type { Claim } from './conflicts.ts';
import type { CanaryRules } from './declaration/annotation.ts';
import { diagnose } from './diagnose.ts';
import type { HostIndex } from './ingresses-by-host.ts';
import { canaryReference } from './names.ts';
import { hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

export interface CanaryContext {
  readonly read: Reader;
  readonly sources: BackendSources;
  readonly diagnostics: Diagnostic[];
}

/**
 * The canaries of a route, whose claims are sorted by age. A canary that has the Service port of its primary would change nothing, and
 * one without a rule or a weight takes no request.
 */
export function resolveCanaries(
  claims: readonly Claim[],
  primary: ClusterReference,
  { read, sources, diagnostics }: CanaryContext,
): Canary[] {
  const shares = new Shares();
  return claims.flatMap(({ ingress, backend, field }): Canary[] => {
    const rules = ingress.canary;
    if (rules === undefined) return [];
    const { cluster, problem } = resolveBackend(read, sources, { namespace: ingress.namespace, cluster: {} }, backend);
    if (problem !== undefined) diagnostics.push(reportBackend(ingress.key, field, problem));
    if (cluster === undefined) return [];
    if (isSamePort(cluster, primary)) {
      const message = 'a canary and its primary lead to the same Service port, so it takes no requests';
      diagnostics.push(unmatched(ingress, { message, field, paths: [field] }));
      return [];
    }
    const policy = canaryPolicy(primary.policy ?? {}, ingress.cluster, rules.sticky);
    const { header, cookie, sticky } = rules;
    return [
      {
        ...byScheme(canaryReference(primary, cluster, policy)),
        ...(header && { header }),
        ...(cookie !== undefined && { cookie }),
        millionths: shares.take(rules),
        sticky,
        origin: { ingress: ingress.key, field },
      },
    ];
  });
}

/** What is left of the requests of a route. */
class Shares {
  private left = WHOLE;

  take({ weight, total }: CanaryRules): number {
    const share = Math.min(Math.round((weight * WHOLE) / total), this.left);
    this.left -= share;
    return share;
  }
}

const WHOLE = 1_000_000;

/** How endpoints are chosen is said by the canary, or by the affinity that it shares with its primary; all else by the primary. */
function canaryPolicy(primary: ClusterPolicy, own: ClusterPolicy, sticky: boolean): ClusterPolicy {
  const { cookieHash, hashBy: _, loadBalancing: __, serviceUpstream: ___, ...rest } = primary;
  return { ...rest, ...own, ...(sticky && cookieHash && { cookieHash }) };
}

function isSamePort(a: ClusterReference, b: ClusterReference): boolean {
  return a.namespace === b.namespace && a.service === b.service && a.port === b.port;
}

/** A canary that shares no path with an Ingress of the host. */
export function reportUnmatched(host: HostName, { ingress, type, path, field }: Claim): Diagnostic {
  const of = host === DEFAULT_HOST ? 'without a host' : `of host ${host}`;
  const message = `no other Ingress serves the ${type} path ${path} ${of}, so this canary takes no requests`;
  return unmatched(ingress, { message, field, paths: [field] });
}

/** @param paths the fields of those that take no requests */
function unmatched(
  { key }: Pick<ServedIngress, 'key'>,
  { message, field, paths }: { readonly message: string; readonly field: string; readonly paths: readonly string[] },
): Diagnostic {
  return {
    ...diagnose(objectRef('Ingress', key), 'warning', 'CanaryUnmatched', message, field),
    ignored: { annotations: 'all', parts: paths, why: message },
  };
}

/** Unit per canary: the hosts that nobody serves, so that no other unit could say so. */
export function deriveLonelyCanaries(
  engine: Engine,
  { servedIngresses, byHost }: HostIndex,
): Table<{ readonly diagnostics: readonly Diagnostic[] }> {
  const canaries = engine.group<IngressDecision, true>('canaries', servedIngresses, (key, { served }) =>
    served?.canary === undefined ? [] : [[key, true]],
  );
  return engine.derive('lonely-canary', canaries, (key, read) => {
    const served = read(servedIngresses, key)?.served;
    if (served?.canary === undefined) return undefined;
    const hosts = [...hostsOf(served)].filter((host) => read(byHost, host) === undefined);
    return {
      diagnostics: hosts.map((host) => {
        const message = `no other Ingress serves host ${host}, so this canary takes no requests there`;
        const rules = served.rules.filter((rule) => rule.host === host);
        const paths = rules.flatMap((rule) => rule.paths.map(({ field }) => field));
        return unmatched(served, { message, field: `${rules[0]?.field ?? 'spec.rules'}.host`, paths });
      }),
    };
  });
}
