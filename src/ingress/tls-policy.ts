/**
 * How single hosts want TLS spoken. Of the Ingresses of a host only those in the namespace of the oldest say it, for each part the first
 * that speaks of it. Each policy costs the proxy memory for each certificate that is served with it, so that of a namespace only
 * `MAX_POLICIES` hold.
 */
import { deepEqual, type Engine, type Key, type Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import type { TlsPolicy } from '../model/tls-settings.ts';
import type { HostEffects } from './declaration/annotation.ts';
import { diagnose } from './diagnose.ts';
import { byOwnership, type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import type { HostPassthrough } from './passthrough.ts';
import { type Age, compareAge, hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

export interface HostTlsPolicy {
  /** Absent for as everywhere. */
  readonly policy?: TlsPolicy;
  readonly diagnostics: readonly Diagnostic[];
}

/** About 1 MB of Envoy's memory each and certificate. */
export const MAX_POLICIES = 8;

/** Unit per host of an Ingress that asks for a policy, so that the others cost nothing. */
export function deriveTlsPolicies(
  engine: Engine,
  hosts: HostIndex,
  passthrough: Table<HostPassthrough>,
): Table<HostTlsPolicy> {
  const asking = engine.group<IngressDecision>('tls-policy-hosts', hosts.servedIngresses, (_, { served }) =>
    served !== undefined && asks(served) ? [...hostsOf(served)].map((host) => [host, true]) : [],
  );
  const wishes = engine.derive<Wish>('tls-policy-wish', asking, (host, read) => {
    // Whoever ends TLS there chooses the ciphers, and users are told so.
    if (read(passthrough, host)?.passthrough !== undefined) return undefined;
    return wishOf(host, ingressesOf(host, read, hosts));
  });
  const surplus = deriveSurplus(engine, wishes);
  return engine.derive<HostTlsPolicy>('tls-policy', wishes, (host, read) => {
    const { policy, namespace, askedBy, diagnostics } = read(wishes, host)!;
    if (policy === undefined || !read(surplus, namespace)?.includes(JSON.stringify(policy))) {
      return { ...(policy && { policy }), diagnostics };
    }
    const reason = `older Ingresses of namespace ${namespace} have ${MAX_POLICIES} others already, so that on host ${host} TLS is spoken as the ConfigMap says`;
    return { diagnostics: [...diagnostics, ...withoutEffect(askedBy, host, reason)] };
  });
}

/** What a host asks for, before it is known whether there is room. */
interface Wish {
  readonly policy?: TlsPolicy;
  /** Of the host's oldest Ingress. */
  readonly namespace: string;
  /** The Ingresses whose wish counts, oldest first. */
  readonly askedBy: readonly Age[];
  readonly diagnostics: readonly Diagnostic[];
}

function wishOf(host: HostName, ingresses: readonly ServedIngress[]): Wish | undefined {
  const [oldest] = ingresses;
  if (oldest === undefined) return undefined;
  const { namespace } = oldest;
  if (host === DEFAULT_HOST) {
    // The default server answers whoever asks for no name that is known, before anybody knows which Ingress is meant.
    const reason = 'rules without a host have TLS as the ConfigMap says';
    return { namespace, askedBy: [], diagnostics: withoutEffect(ingresses.filter(asks), host, reason) };
  }
  const { own, foreign } = byOwnership(ingresses);
  const policy = policyOf(own);
  const reason = `host ${host} belongs to namespace ${namespace}, that of its oldest Ingress (${oldest.key})`;
  return {
    ...(policy && { policy }),
    namespace,
    askedBy: own.filter(asks).map(({ key, creationTimestamp }) => ({ key, creationTimestamp })),
    diagnostics: withoutEffect(foreign.filter(asks), host, reason),
  };
}

/** `undefined` for what holds anyway. */
function policyOf(ingresses: readonly ServedIngress[]): TlsPolicy | undefined {
  const ciphers = firstOf(ingresses, 'ciphers');
  const prefersServerCiphers = firstOf(ingresses, 'prefersServerCiphers') ?? true;
  if (ciphers === undefined && prefersServerCiphers) return undefined;
  return { ...(ciphers && { ciphers }), ...(!prefersServerCiphers && { prefersClientCiphers: true }) };
}

function firstOf<K extends 'ciphers' | 'prefersServerCiphers'>(
  ingresses: readonly ServedIngress[],
  effect: K,
): HostEffects[K] | undefined {
  return ingresses.find(({ host }) => host[effect] !== undefined)?.host[effect];
}

function asks({ host }: ServedIngress): boolean {
  return host.ciphers !== undefined || host.prefersServerCiphers !== undefined;
}

function withoutEffect(ingresses: readonly Age[], host: HostName, reason: string): Diagnostic[] {
  const message = `${reason}; ssl-ciphers and ssl-prefer-server-ciphers are without effect there`;
  const ignored = { annotations: ['ssl-ciphers', 'ssl-prefer-server-ciphers'], parts: [host], why: reason };
  return ingresses.map(({ key }) => ({
    ...diagnose(objectRef('Ingress', key), 'warning', 'AnnotationUnsupported', message, 'metadata.annotations'),
    ignored,
  }));
}

interface Asked extends Age {
  readonly policy: string;
}

/**
 * Per namespace the policies, as JSON, for which there is no room: all but those that the oldest Ingresses ask for. As long as there are
 * few it stays empty, so that a new policy reaches no other host.
 */
function deriveSurplus(engine: Engine, wishes: Table<Wish>): Table<readonly string[]> {
  return engine.reduce<Wish, Asked, Map<Key, Asked>, readonly string[]>('tls-policy-surplus', wishes, {
    spread: (_, { policy, namespace, askedBy: [first] }) =>
      policy && first ? [[namespace, { ...first, policy: JSON.stringify(policy) }]] : [],
    init: () => new Map(),
    add: (byHost, host, asked) => void byHost.set(host, asked),
    remove: (byHost, host) => void byHost.delete(host),
    empty: (byHost) => byHost.size === 0,
    view: (byHost) => {
      const oldest = new Map<string, Asked>();
      for (const asked of byHost.values()) {
        const other = oldest.get(asked.policy);
        if (other === undefined || compareAge(asked, other) < 0) oldest.set(asked.policy, asked);
      }
      if (oldest.size <= MAX_POLICIES) return [];
      const sorted = [...oldest.values()].toSorted((a, b) => compareAge(a, b) || (a.policy < b.policy ? -1 : 1));
      return sorted.slice(MAX_POLICIES).map(({ policy }) => policy);
    },
    equal: deepEqual,
  });
}
