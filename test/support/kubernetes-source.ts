/** A source in front of an API server of this process, and the objects of a small shop. Both end with the test. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach } from 'vitest';
import type { ObjectChange } from '../../src/cluster/cluster-state.ts';
import type { ConfigMap, Ingress, ObjectKind } from '../../src/cluster/objects.ts';
import type { WatchedKind } from '../../src/kubernetes/kinds.ts';
import { createKubernetesSource } from '../../src/kubernetes/source.ts';
import type { KubernetesSource, SourceEvent } from '../../src/kubernetes/source-options.ts';
import { createFastClock, FakeApiServer, type Misbehaviour, type RawObject } from '../../src/kubernetes/testing.ts';
import type { Diagnostic } from '../../src/model/diagnostic.ts';
import { type ObjectRef, objectKey } from '../../src/model/object-ref.ts';

/** What a reader of the source has, by `Kind namespace/name`: the resourceVersion. */
type Known = Map<string, string | undefined>;

interface World {
  readonly api: FakeApiServer;
  readonly source: KubernetesSource;
  readonly known: Known;
  readonly batches: (readonly ObjectChange[])[];
  readonly events: SourceEvent[];
  readonly told: Diagnostic[];
  until(condition: () => boolean, what: string): Promise<void>;
  /** Waits until what is known is what the API server has, of what is wanted. */
  settled(...absent: string[]): Promise<void>;
}

const open: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

interface Options {
  readonly fill?: (api: FakeApiServer) => void;
  readonly namespace?: string;
  readonly namespaceSelector?: string;
  readonly named?: readonly ObjectRef[];
  readonly referencesOfNamed?: (configMap: ConfigMap) => readonly ObjectRef[];
  /** How much faster than time. */
  readonly factor?: number;
  readonly idleMs?: number;
}

export async function createWorld({ fill, factor = 50, named = [], ...options }: Options = {}): Promise<World> {
  const api = new FakeApiServer();
  await api.listen();
  fill?.(api);
  const known: Known = new Map();
  const batches: (readonly ObjectChange[])[] = [];
  const events: SourceEvent[] = [];
  const told: Diagnostic[] = [];
  const source = createKubernetesSource({
    client: api.client(),
    ...options,
    named,
    referencesOf,
    clock: createFastClock(factor),
    observe: (event) => events.push(event),
    onDiagnostics: ({ added }) => told.push(...added),
    onChanges(changes) {
      batches.push(changes);
      for (const change of changes) {
        if ('upsert' in change) known.set(keyOf(change.upsert), change.upsert.resourceVersion);
        else known.delete(keyOf(change.remove));
      }
    },
  });
  open.push({
    stop: async () => {
      await source.stop();
      await api.close();
    },
  });
  const until = async (condition: () => boolean, what: string) => {
    const deadline = Date.now() + 10_000;
    while (!condition()) {
      if (Date.now() > deadline) throw new Error(`Not within 10 s: ${what}. Known: ${[...known.keys()].join(', ')}`);
      await delay(2);
    }
  };
  return {
    api,
    source,
    known,
    batches,
    events,
    told,
    until,
    settled: async (...absent) => {
      const expected = () => api.present().filter(([key]) => !absent.includes(key));
      await until(
        () => JSON.stringify([...known].sort()) === JSON.stringify(expected().sort()),
        `the same as the API server: ${JSON.stringify(expected())}`,
      );
    },
  };
}

/** `tls`, or `other.tls` for one of another namespace. */
function referencesOf({ namespace, tls }: Ingress): ObjectRef[] {
  return tls.map(({ secretName = '' }) => {
    const [name = '', elsewhere = namespace] = secretName.split('.').toReversed();
    return { kind: 'Secret', namespace: elsewhere, name };
  });
}

export function keyOf(object: {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
}): string {
  return `${object.kind} ${objectKey(object)}`;
}

export function ingress(name: string, secret?: string, namespace = 'shop'): RawObject {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  return {
    metadata: { namespace, name },
    spec: {
      rules: [{ host: `${name}.example.com`, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      ...(secret !== undefined && { tls: [{ secretName: secret }] }),
    },
  };
}

export function service(name: string, namespace = 'shop'): RawObject {
  return { metadata: { namespace, name }, spec: { ports: [{ port: 80 }] } };
}

export function slice(name: string, of: string, namespace: string): RawObject {
  const labels = { 'kubernetes.io/service-name': of };
  return { metadata: { namespace, name, labels }, addressType: 'IPv4', ports: [{ port: 80 }], endpoints: [] };
}

export function secret(name: string, namespace = 'shop', type = 'kubernetes.io/tls'): RawObject {
  return { metadata: { namespace, name }, type, data: { 'tls.key': Buffer.from(`key of ${name}`).toString('base64') } };
}

export function fillShop(api: FakeApiServer): void {
  api.put('IngressClass', { metadata: { name: 'nginx' }, spec: { controller: 'k8s.io/ingress-nginx' } });
  api.put('Ingress', ingress('web', 'tls'));
  api.put('Service', service('web'));
  api.put('Secret', secret('tls'));
}

/** Misbehaves the first `times` that a request of that kind and verb comes. */
export function misbehaveFirst(
  api: FakeApiServer,
  verb: 'list' | 'watch',
  kind: WatchedKind,
  misbehaviour: Misbehaviour,
  times = 1,
): void {
  let left = times;
  api.misbehave = (request) => {
    if (request.verb !== verb || request.kind !== kind || left === 0) return undefined;
    left -= 1;
    return misbehaviour;
  };
}
