/**
 * The promise of the source, tried with random histories: whatever happened to objects, connections and answers, what was
 * handed over in the end is what a source makes that reads the same API server for the first time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Ingress, KubernetesObject } from '../cluster/objects.ts';
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import type { WatchedKind } from './kinds.ts';
import { createKubernetesSource } from './source.ts';
import type { KubernetesSource } from './source-options.ts';
import { createFastClock, FakeApiServer, type FakeRequest, type Misbehaviour } from './testing.ts';

type Step =
  | { readonly do: 'ingress'; readonly name: number; readonly namespace: number; readonly secrets: readonly number[] }
  | { readonly do: 'secret' | 'service'; readonly name: number; readonly namespace: number }
  | {
      readonly do: 'remove';
      readonly kind: 'Ingress' | 'Secret' | 'Service';
      readonly name: number;
      readonly namespace: number;
    }
  | { readonly do: 'label'; readonly namespace: number; readonly isSelected: boolean }
  | { readonly do: 'cut'; readonly how: 'end' | 'reset'; readonly kind: WatchedKind | undefined }
  | { readonly do: 'compact' | 'bookmark' | 'repeat' | 'wait' }
  | { readonly do: 'misbehave'; readonly what: Misbehaviour; readonly times: number; readonly kind: WatchedKind };

const name = fc.nat({ max: 3 });
const namespace = fc.nat({ max: 1 });
const kind = fc.constantFrom<WatchedKind>('Ingress', 'Secret', 'Service', 'Namespace');

const misbehaviour = fc.constantFrom<Misbehaviour>(
  { status: 410, reason: 'Expired' },
  { status: 429, headers: { 'Retry-After': '1' } },
  { status: 500 },
  { status: 403, reason: 'Forbidden' },
  { raw: '' },
  { raw: '{"kind":"Status"}\n' },
  { raw: '{"type":"ERROR","object":{"code":410}}\n' },
  'reset',
  'truncate',
  'hang',
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('ingress' as const),
      name,
      namespace,
      secrets: fc.uniqueArray(name, { maxLength: 2 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('secret' as const, 'service' as const), name, namespace }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('remove' as const),
      kind: fc.constantFrom('Ingress' as const, 'Secret' as const, 'Service' as const),
      name,
      namespace,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('label' as const), namespace, isSelected: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('cut' as const),
      how: fc.constantFrom('end' as const, 'reset' as const),
      kind: fc.option(kind, { nil: undefined }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('compact' as const, 'bookmark' as const, 'repeat' as const, 'wait' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('misbehave' as const),
      what: misbehaviour,
      times: fc.integer({ min: 1, max: 3 }),
      kind,
    }),
  },
);

class Run {
  readonly api = new FakeApiServer();
  private readonly rules: { readonly what: Misbehaviour; readonly kind: WatchedKind; times: number }[] = [];
  private lastEvent: { readonly kind: WatchedKind; readonly document: unknown } | undefined;

  constructor() {
    this.api.misbehave = (request) => this.misbehave(request);
  }

  async perform(action: Step): Promise<void> {
    const { api } = this;
    switch (action.do) {
      case 'ingress': {
        const tls = action.secrets.map((secret) => ({ secretName: `s${secret}` }));
        this.put('Ingress', { metadata: place(action), spec: { tls } });
        break;
      }
      case 'secret':
        this.put('Secret', { metadata: { ...place(action), name: `s${action.name}` }, type: 'Opaque', data: {} });
        break;
      case 'service':
        this.put('Service', { metadata: place(action), spec: { ports: [{ port: 80 }] } });
        break;
      case 'remove':
        api.remove(action.kind, `ns${action.namespace}`, `${action.kind === 'Secret' ? 's' : 'o'}${action.name}`);
        break;
      case 'label':
        this.label(action.namespace, action.isSelected);
        break;
      case 'cut':
        api.cut(action.how, action.kind);
        break;
      case 'compact':
        api.compact();
        break;
      case 'bookmark':
        api.bookmark();
        break;
      case 'repeat':
        if (this.lastEvent !== undefined) api.send(this.lastEvent.kind, this.lastEvent.document);
        break;
      case 'misbehave':
        this.rules.push({ ...action });
        break;
      case 'wait':
        await delay(5);
    }
  }

  label(index: number, isSelected: boolean): void {
    this.put('Namespace', { metadata: { name: `ns${index}`, labels: { team: isSelected ? 'a' : 'b' } } });
  }

  heal(): void {
    this.rules.length = 0;
  }

  private put(kindOf: WatchedKind, object: Parameters<FakeApiServer['put']>[1]): void {
    const resourceVersion = this.api.put(kindOf, object);
    const metadata = { ...object.metadata, resourceVersion };
    this.lastEvent = { kind: kindOf, document: { type: 'MODIFIED', object: { ...object, metadata } } };
  }

  private misbehave(request: FakeRequest): Misbehaviour | undefined {
    const rule = this.rules.find((one) => one.kind === request.kind && one.times > 0);
    if (rule === undefined) return undefined;
    rule.times -= 1;
    return rule.what;
  }
}

function place({ name: index, namespace: space }: { readonly name: number; readonly namespace: number }) {
  return { namespace: `ns${space}`, name: `o${index}` };
}

function createReader(
  api: FakeApiServer,
  scope: object,
): { source: KubernetesSource; known: Map<string, KubernetesObject> } {
  const known = new Map<string, KubernetesObject>();
  const source = createKubernetesSource({
    ...scope,
    client: api.client(),
    named: [{ kind: 'Secret', namespace: 'ns1', name: 's0' }],
    referencesOf: ({ namespace: space, tls }: Ingress): ObjectRef[] =>
      tls.map(({ secretName = '' }) => ({
        kind: 'Secret',
        // One of them belongs to another namespace, which may come and go by itself.
        namespace: secretName === 's2' ? 'ns1' : space,
        name: secretName,
      })),
    clock: createFastClock(300),
    // In real time.
    idleMs: 100,
    timeoutMs: 100,
    onDiagnostics: () => {},
    onChanges(changes) {
      for (const change of changes) {
        if ('upsert' in change) known.set(describeRef(change.upsert), change.upsert);
        else known.delete(describeRef(change.remove));
      }
    },
  });
  return { source, known };
}

function show(known: ReadonlyMap<string, KubernetesObject>): unknown {
  return [...known].sort(([a], [b]) => (a < b ? -1 : 1));
}

describe('any history of objects and faults ends with what a first reading gives', () => {
  it.each([
    ['all namespaces', {}],
    ['one namespace', { namespace: 'ns0' }],
    ['selected namespaces', { namespaceSelector: 'team=a' }],
  ])(
    'with %s',
    async (_, scope) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 12 }),
          fc.array(step, { maxLength: 40 }),
          async (before, after) => {
            const run = new Run();
            await run.api.listen();
            run.label(0, true);
            run.label(1, false);
            for (const one of before) await run.perform(one);
            const { source, known } = createReader(run.api, scope);
            const started = source.start();
            // The first reading is disturbed by the same faults.
            const [during, then] = [after.slice(0, 10), after.slice(10)];
            for (const one of during) await run.perform(one);
            await Promise.race([started, delay(20)]);
            for (const one of then) await run.perform(one);
            run.heal();
            await started;
            const fresh = createReader(run.api, scope);
            await fresh.source.start();
            const deadline = Date.now() + 5_000;
            const isEqual = () => JSON.stringify(show(known)) === JSON.stringify(show(fresh.known));
            while (!isEqual() && Date.now() < deadline) await delay(3);
            try {
              expect(show(known)).toEqual(show(fresh.known));
            } finally {
              await Promise.all([source.stop(), fresh.source.stop()]);
              await run.api.close();
            }
          },
        ),
        { numRuns: 40 },
      );
    },
    120_000,
  );
});
