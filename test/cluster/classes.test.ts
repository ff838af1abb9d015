/** Which Ingresses are ours, while classes come, go and change. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ingressClass } from '../support/manifests.ts';
import type { Manifest } from './support/api.ts';
import { pathOf } from './support/api.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore, notOurs, OUR_CONTROLLER, ours } from './support/ingresses.ts';
import { served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

const OTHER_CONTROLLER = 'example.com/other';
const ANNOTATION = 'kubernetes.io/ingress.class';

let site: Site;
let made: Manifest[] = [];

beforeAll(async () => {
  site = await startSite();
  await site.cluster.api.apply(ingressClass('other', OTHER_CONTROLLER));
});
afterAll(() => site?.close());
afterEach(async () => {
  await site.cluster.api.remove(...made);
  made = [];
});

interface ClassOf {
  readonly className?: string;
  readonly annotation?: string;
}

/** An Ingress with nothing about its class but this. */
async function create(host: string, { className, annotation }: ClassOf): Promise<Manifest> {
  const { metadata, spec, ...rest } = site.ingress(host) as Manifest & Record<'metadata' | 'spec', object>;
  const { ingressClassName: _, ...others } = spec as { readonly ingressClassName: string };
  const manifest = {
    ...rest,
    metadata: { ...metadata, ...(annotation !== undefined && { annotations: { [ANNOTATION]: annotation } }) },
    spec: { ...others, ...(className !== undefined && { ingressClassName: className }) },
  };
  made.push(manifest);
  await site.cluster.api.apply(manifest);
  return manifest;
}

async function change(
  manifest: Manifest,
  { className, annotation }: Record<keyof ClassOf, string | null>,
): Promise<void> {
  await site.cluster.api.patch(pathOf(manifest), {
    metadata: { annotations: { [ANNOTATION]: annotation } },
    spec: { ingressClassName: className },
  });
}

test('an Ingress is served, and has our address, exactly while its class is ours', async () => {
  const host = 'field.test';
  const web = await create(host, { className: 'nginx' });
  await ours(site, web, host);
  await change(web, { className: 'other', annotation: null });
  await notOurs(site, web, host);
  await change(web, { className: 'nginx', annotation: null });
  await ours(site, web, host);
  await change(web, { className: null, annotation: null });
  await notOurs(site, web, host);
  await change(web, { className: 'nginx', annotation: null });
  await ours(site, web, host);
  await served(STEADY_HOST, { product: site.product });
});

test('the annotation counts while the field is absent, and only then', async () => {
  const host = 'annotation.test';
  const web = await create(host, { annotation: 'nginx' });
  await ours(site, web, host);
  await change(web, { className: null, annotation: 'other' });
  await notOurs(site, web, host);
  await change(web, { className: 'nginx', annotation: 'other' });
  await ours(site, web, host);
  await change(web, { className: 'other', annotation: 'nginx' });
  await notOurs(site, web, host);
  await change(web, { className: null, annotation: 'nginx' });
  await ours(site, web, host);
  await change(web, { className: null, annotation: null });
  await notOurs(site, web, host);
});

test('a class is ours by its controller, from when it is created until it is deleted', async () => {
  const host = 'edge.test';
  const edge = ingressClass('edge', OUR_CONTROLLER);
  const web = await create(host, { className: 'edge' });
  await everythingBefore(site);
  await notOurs(site, web, host);
  await site.cluster.api.apply(edge);
  await ours(site, web, host);
  await site.cluster.api.remove(edge);
  await notOurs(site, web, host);
  await site.cluster.api.apply(ingressClass('edge', OTHER_CONTROLLER));
  await everythingBefore(site);
  await notOurs(site, web, host);
  await site.cluster.api.remove(edge);
  await site.cluster.api.apply(edge);
  await ours(site, web, host);
  await site.cluster.api.remove(edge);
});

test('an Ingress without a class gets the default class when it is created, and never later', async () => {
  const early = await create('early.test', {});
  const standard = { ...ingressClass('standard', OUR_CONTROLLER) };
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
  await site.cluster.api.apply({ ...standard, metadata: { name: 'standard', annotations } });
  // The API server takes a moment to know its default class.
  const late = await eventually('an Ingress with the default class', async () => {
    const created = await create('late.test', {});
    const { spec } = await site.cluster.api.read(created);
    if (spec.ingressClassName === 'standard') return created;
    await site.cluster.api.remove(created);
    return undefined;
  });
  await ours(site, late, 'late.test');
  await notOurs(site, early, 'early.test');
  await site.cluster.api.remove(standard);
  await notOurs(site, late, 'late.test');
});

test('flags: without a class, a class by its name, another controller', async () => {
  await site.cluster.api.apply(ingressClass('named', OTHER_CONTROLLER), ingressClass('mine', 'example.com/mine'));
  const none = await create('none.test', {});
  const named = await create('named.test', { className: 'named' });
  const mine = await create('mine.test', { className: 'mine' });
  const usual = await create('usual.test', { className: 'nginx' });
  await ours(site, usual, 'usual.test');
  const flags = ['--watch-ingress-without-class', '--ingress-class-by-name', '--ingress-class', 'named'];
  await (await site.start({ args: [...flags, '--controller-class', 'example.com/mine'] })).ready();
  await ours(site, none, 'none.test');
  await ours(site, named, 'named.test');
  await ours(site, mine, 'mine.test');
  await served('usual.test', { status: 404, product: site.product });
  await change(none, { className: null, annotation: 'nginx' });
  await notOurs(site, none, 'none.test');
  await change(none, { className: null, annotation: 'named' });
  await ours(site, none, 'none.test');
  await (await site.start()).ready();
  await ours(site, usual, 'usual.test');
  for (const host of ['none.test', 'named.test', 'mine.test'])
    await served(host, { status: 404, product: site.product });
  expect((await site.product.metrics()).sum('ingress_xds_nacks_total')).toBe(0);
});
