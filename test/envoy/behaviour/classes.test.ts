import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, type GatewayOptions, startGateway } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import { ingress, ingressClass, type Manifest } from '../../support/manifests.ts';
import { type Services, soon, startServices } from './cases.ts';

const OURS = 'k8s.io/ingress-nginx';
const ANNOTATION = 'kubernetes.io/ingress.class';

let services: Services;

beforeAll(async () => {
  services = await startServices('web');
});
afterAll(() => services?.close());

/** An Ingress for the host of its own name, `NAME.example.com`. */
function classed(name: string, by: { readonly field?: string; readonly annotation?: string }): Manifest {
  const manifest = ingress({
    name,
    rules: [{ host: `${name}.example.com`, paths: [{}] }],
    ...(by.field !== undefined && { className: by.field }),
    ...(by.annotation !== undefined && { annotations: { [ANNOTATION]: by.annotation } }),
  });
  if (by.field !== undefined) return manifest;
  const { ingressClassName: _, ...spec } = manifest['spec'] as Readonly<Record<string, unknown>>;
  return { ...manifest, spec };
}

const INGRESSES = [
  classed('by-field', { field: 'nginx' }),
  classed('by-other-name', { field: 'internal' }),
  classed('by-foreign-field', { field: 'traefik' }),
  classed('by-missing-class', { field: 'nowhere' }),
  classed('by-annotation', { annotation: 'nginx' }),
  classed('by-foreign-annotation', { annotation: 'traefik' }),
  classed('by-empty-annotation', { annotation: '' }),
  classed('by-both', { field: 'nginx', annotation: 'traefik' }),
  classed('by-foreign-field-and-annotation', { field: 'traefik', annotation: 'nginx' }),
  classed('by-nothing', {}),
];
const CLASSES = [
  ingressClass('nginx', OURS),
  ingressClass('internal', OURS),
  ingressClass('traefik', 'traefik.io/ingress-controller'),
];

async function isServed(gateway: Gateway, name: string): Promise<boolean> {
  return (await send({ port: gateway.httpPort, host: `${name}.example.com` })).status === 200;
}

async function served(gateway: Gateway): Promise<string[]> {
  const names = INGRESSES.map(({ metadata }) => (metadata as { name: string }).name);
  const answers = await Promise.all(names.map(async (name) => ((await isServed(gateway, name)) ? [name] : [])));
  return answers.flat();
}

async function withGateway(options: GatewayOptions, use: (gateway: Gateway) => Promise<void>): Promise<void> {
  const manifests = [...services.manifests, ...(options.manifests ?? [])];
  const gateway = await startGateway({ ...options, manifests });
  try {
    await use(gateway);
  } finally {
    await gateway.close();
  }
}

describe('which Ingresses are served', () => {
  const everything = [...CLASSES, ...INGRESSES];

  test.each([
    ['by the controller of their class', {}, ['by-field', 'by-other-name', 'by-annotation', 'by-both']],
    [
      'by another controller name',
      { controllerClass: 'traefik.io/ingress-controller' },
      ['by-foreign-field', 'by-annotation', 'by-foreign-field-and-annotation'],
    ],
    [
      'by the name of their class',
      { controllerClass: 'example.com/none', ingressClass: 'traefik', ingressClassByName: true },
      ['by-foreign-field', 'by-foreign-annotation', 'by-foreign-field-and-annotation'],
    ],
    [
      'without a class',
      { watchIngressWithoutClass: true },
      ['by-field', 'by-other-name', 'by-annotation', 'by-both', 'by-nothing'],
    ],
  ])('%s', async (_what, build, expected) => {
    await withGateway({ manifests: everything, build }, async (gateway) => {
      expect(await served(gateway)).toEqual(expected);
    });
  });

  test('where there is no IngressClass at all: the name of ours is enough', async () => {
    await withGateway({ manifests: INGRESSES }, async (gateway) => {
      expect(await served(gateway)).toEqual(['by-field', 'by-annotation', 'by-both']);
    });
  });
});

describe('a change of class takes effect both ways', () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startGateway({ manifests: [...services.manifests, ...CLASSES] });
  });
  afterAll(() => gateway?.close());

  test('of the Ingress', async () => {
    await gateway.apply(classed('moving', { field: 'nginx' }));
    await soon(() => isServed(gateway, 'moving')).toBe(true);
    await gateway.apply(classed('moving', { field: 'traefik' }));
    await soon(() => isServed(gateway, 'moving')).toBe(false);
    await gateway.apply(classed('moving', { annotation: 'nginx' }));
    await soon(() => isServed(gateway, 'moving')).toBe(true);
  });

  test('of what names no class, or only an annotation', async () => {
    await gateway.apply(classed('drifting', {}));
    await soon(() => isServed(gateway, 'drifting')).toBe(false);
    await gateway.apply(classed('drifting', { annotation: 'nginx' }));
    await soon(() => isServed(gateway, 'drifting')).toBe(true);
    await gateway.apply(classed('drifting', { annotation: 'traefik' }));
    await soon(() => isServed(gateway, 'drifting')).toBe(false);
    await gateway.apply(classed('drifting', { field: 'internal', annotation: 'traefik' }));
    await soon(() => isServed(gateway, 'drifting')).toBe(true);
    await gateway.apply(classed('drifting', {}));
    await soon(() => isServed(gateway, 'drifting')).toBe(false);
  });

  test('and what is left out says why', async () => {
    await gateway.apply(
      classed('why-foreign', { field: 'traefik' }),
      classed('why-missing', { field: 'nowhere' }),
      classed('why-annotation', { annotation: 'traefik' }),
      classed('why-none', {}),
    );
    const reasons = gateway.pipeline.controller
      .currentDiagnostics()
      .filter(({ ref }) => ref?.name.startsWith('why-'))
      .map(({ ref, code, field }) => `${ref?.name} ${code} ${field ?? ''}`.trim());
    expect(reasons.toSorted()).toEqual([
      'why-annotation IngressClassForeign metadata.annotations',
      'why-foreign IngressClassForeign spec.ingressClassName',
      'why-missing IngressClassMissing spec.ingressClassName',
      'why-none IngressClassMissing',
    ]);
  });

  test('where classes are known by name: as the class comes, and as it goes', async () => {
    const build = { controllerClass: 'example.com/none', ingressClass: 'named', ingressClassByName: true };
    const options = { manifests: [...CLASSES, classed('by-name', { field: 'named' })], build };
    await withGateway(options, async (byName) => {
      expect(await isServed(byName, 'by-name')).toBe(false);
      await byName.apply(ingressClass('named', 'example.com/other'));
      await soon(() => isServed(byName, 'by-name')).toBe(true);
      await byName.remove('IngressClass', 'named', '');
      await soon(() => isServed(byName, 'by-name')).toBe(false);
    });
  });

  test('of the IngressClass', async () => {
    await gateway.apply(classed('late', { field: 'late' }));
    await soon(() => isServed(gateway, 'late')).toBe(false);
    await gateway.apply(ingressClass('late', OURS));
    await soon(() => isServed(gateway, 'late')).toBe(true);
    await gateway.apply(ingressClass('late', 'example.com/other'));
    await soon(() => isServed(gateway, 'late')).toBe(false);
    await gateway.apply(ingressClass('late', OURS));
    await gateway.remove('IngressClass', 'late', '');
    await soon(() => isServed(gateway, 'late')).toBe(false);
  });
});
