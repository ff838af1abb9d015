import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { type IngressSpec, ingress, type Manifest } from '../../support/manifests.ts';
import { observe, type Services, soon, startServices } from './cases.ts';

const OLD = '2024-01-01T00:00:00Z';
const NEW = '2025-01-01T00:00:00Z';

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('first', 'second', 'third');
  gateway = await startGateway({ manifests: services.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

/** An Ingress that wants one path of a host for a Service. */
function claim(
  name: string,
  host: string,
  backend: string,
  more: Partial<IngressSpec> & { path?: string } = {},
): Manifest {
  const { path = '/', ...spec } = more;
  return ingress({ name, rules: [{ host, paths: [{ path, service: `${backend}:80` }] }], ...spec });
}

async function backendOf(url: string): Promise<string | number> {
  const { answer, received } = await observe(gateway, { url });
  return received?.backend ?? answer.status;
}

/** The Diagnostic codes about an Ingress. */
function codes(name: string): string[] {
  return gateway.pipeline.controller
    .currentDiagnostics()
    .filter(({ ref }) => ref?.kind === 'Ingress' && ref.name === name)
    .map(({ code }) => code);
}

describe('two Ingresses that want the same path of a host', () => {
  test('the older one wins, whichever comes first; the other one is told and takes over when it goes', async () => {
    const url = 'http://age.example.com/';
    const older = claim('age-old', 'age.example.com', 'first', { created: OLD });
    await gateway.apply(claim('age-new', 'age.example.com', 'second', { created: NEW }));
    await soon(() => backendOf(url)).toBe('second');
    await gateway.apply(older);
    await soon(() => backendOf(url)).toBe('first');
    expect([codes('age-new'), codes('age-old')]).toEqual([['PathConflict'], []]);
    await gateway.remove('Ingress', 'age-old');
    await soon(() => backendOf(url)).toBe('second');
    expect(codes('age-new')).toEqual([]);
    await gateway.apply(older);
    await soon(() => backendOf(url)).toBe('first');
  });

  test('of equal age: the last one by namespace and name', async () => {
    const url = 'http://equal.example.com/';
    await gateway.apply(
      claim('equal-a', 'equal.example.com', 'first', { created: OLD }),
      claim('equal-c', 'equal.example.com', 'second', { created: OLD }),
      claim('equal-b', 'equal.example.com', 'third', { created: OLD }),
    );
    await soon(() => backendOf(url)).toBe('second');
    await gateway.remove('Ingress', 'equal-c');
    await soon(() => backendOf(url)).toBe('third');
    await gateway.remove('Ingress', 'equal-b');
    await soon(() => backendOf(url)).toBe('first');
  });

  test('the loser keeps its other paths', async () => {
    await gateway.apply(
      claim('keep-old', 'keep.example.com', 'first', { created: OLD, path: '/shared' }),
      ingress({
        name: 'keep-new',
        created: NEW,
        rules: [
          {
            host: 'keep.example.com',
            paths: [
              { path: '/shared', service: 'second:80' },
              { path: '/own', service: 'second:80' },
            ],
          },
        ],
      }),
    );
    await soon(() => backendOf('http://keep.example.com/own')).toBe('second');
    expect(await backendOf('http://keep.example.com/shared')).toBe('first');
  });

  test('with another type of path: both are there', async () => {
    await gateway.apply(
      claim('type-old', 'type.example.com', 'first', { created: OLD, path: '/x' }),
      ingress({
        name: 'type-new',
        created: NEW,
        rules: [{ host: 'type.example.com', paths: [{ path: '/x', pathType: 'Exact', service: 'second:80' }] }],
      }),
    );
    await soon(() => backendOf('http://type.example.com/x')).toBe('second');
    expect(await backendOf('http://type.example.com/x/y')).toBe('first');
    expect(codes('type-new')).toEqual([]);
  });

  test('/foo and /foo/ are the same path', async () => {
    await gateway.apply(
      claim('slash-old', 'slash.example.com', 'first', { created: OLD, path: '/foo/' }),
      claim('slash-new', 'slash.example.com', 'second', { created: NEW, path: '/foo' }),
    );
    await soon(() => backendOf('http://slash.example.com/foo')).toBe('first');
    expect(await backendOf('http://slash.example.com/foo/x')).toBe('first');
    expect(codes('slash-new')).toEqual(['PathConflict']);
  });

  test('within one Ingress the first one counts', async () => {
    await gateway.apply(
      ingress({
        name: 'twice',
        rules: [
          {
            host: 'twice.example.com',
            paths: [{ service: 'first:80' }, { service: 'second:80' }],
          },
        ],
      }),
    );
    await soon(() => backendOf('http://twice.example.com/')).toBe('first');
    expect(codes('twice')).toEqual(['PathConflict']);
  });

  test('of different namespaces: no namespace has a host to itself', async () => {
    await gateway.apply(claim('spaces', 'spaces.example.com', 'first', { created: OLD }), {
      ...claim('spaces', 'spaces.example.com', 'second'),
      metadata: { name: 'spaces', namespace: 'zoo', creationTimestamp: NEW },
    });
    await soon(() => backendOf('http://spaces.example.com/')).toBe('first');
    await gateway.remove('Ingress', 'spaces');
    // Its Service is looked for in its own namespace.
    await soon(() => backendOf('http://spaces.example.com/')).toBe(503);
  });

  test('a loser that protects closes nothing of the winner; a protected winner is not opened by the loser', async () => {
    const annotations = { 'nginx.ingress.kubernetes.io/auth-type': 'basic' };
    await gateway.apply(
      claim('guard-old', 'guard.example.com', 'first', { created: OLD }),
      claim('guard-new', 'guard.example.com', 'second', { created: NEW, annotations }),
    );
    await soon(() => backendOf('http://guard.example.com/')).toBe('first');
    await gateway.remove('Ingress', 'guard-old');
    await soon(() => backendOf('http://guard.example.com/')).toBe(503);
    await gateway.apply(claim('guard-newest', 'guard.example.com', 'third', { created: '2026-01-01T00:00:00Z' }));
    await soon(async () => codes('guard-newest')).toEqual(['PathConflict']);
    expect(await backendOf('http://guard.example.com/')).toBe(503);
  });
});

describe('33 Ingresses on one host', () => {
  test('each keeps its path', async () => {
    const names = Array.from({ length: 33 }, (_, index) => `many-${index}`);
    await gateway.apply(...names.map((name) => claim(name, 'many.example.com', 'first', { path: `/${name}` })));
    await soon(() => backendOf('http://many.example.com/many-32')).toBe('first');
    const outcomes = await Promise.all(names.map((name) => backendOf(`http://many.example.com/${name}/x`)));
    expect(new Set(outcomes)).toEqual(new Set(['first']));
    expect(await backendOf('http://many.example.com/many-33')).toBe(404);
  });
});

describe('two Ingresses with only a default backend', () => {
  test('the older one wins, and both win over a host-less /', async () => {
    await gateway.apply(
      ingress({ name: 'all-new', created: NEW, defaultBackend: 'second:80' }),
      ingress({ name: 'all-rule', created: '2020-01-01T00:00:00Z', rules: [{ paths: [{ service: 'third:80' }] }] }),
    );
    await soon(() => backendOf('http://unknown.example.org/')).toBe('second');
    await gateway.apply(ingress({ name: 'all-old', created: OLD, defaultBackend: 'first:80' }));
    await soon(() => backendOf('http://unknown.example.org/')).toBe('first');
    await gateway.remove('Ingress', 'all-old');
    await gateway.remove('Ingress', 'all-new');
    await soon(() => backendOf('http://unknown.example.org/')).toBe('third');
  });
});

describe('a host of one Ingress that goes', () => {
  test('is unknown again, while its neighbours stay', async () => {
    await gateway.apply(claim('gone', 'gone.example.com', 'first'), claim('stays', 'stays.example.com', 'second'));
    await soon(() => backendOf('http://gone.example.com/')).toBe('first');
    await gateway.remove('Ingress', 'gone');
    await gateway.remove('Ingress', 'all-rule');
    await soon(() => backendOf('http://gone.example.com/')).toBe(404);
    expect(await backendOf('http://stays.example.com/')).toBe('second');
  });
});
