import { expect, test } from 'vitest';
import type { Canary } from '../model/canary.ts';
import type { SessionAffinity } from '../model/session-affinity.ts';
import { withCanaries } from './canaries.ts';
import type { RouteView } from './http-view.ts';
import { applyPolicies } from './policies/index.ts';
import { routeMessage } from './route.ts';
import { forward } from './testing.ts';

function canary(name: string, rules: Partial<Canary>): Canary {
  const { action } = forward('/', name);
  if (action.kind !== 'forward') throw new Error('no cluster');
  const origin = { ingress: 'shop/canary', field: '' };
  return { cluster: action.cluster, millionths: 0, sticky: true, origin, ...rules };
}

/** `what is asked → cluster cookie` of each route, in order. */
function choices(canaries: readonly Canary[], affinity?: SessionAffinity): string[] {
  const { match, action } = forward('/', 'web');
  const view = { match, action: { ...action, canaries }, policy: affinity && { affinity } } as RouteView;
  return withCanaries(view, [routeMessage(view)]).map((message) => {
    const { headers = [], cookies = [], runtime_fraction } = message.match ?? {};
    const asked = [
      ...headers.map(({ name, string_match }) => `${name}: ${JSON.stringify(string_match)}`),
      ...cookies.map(({ name, string_match }) => `cookie ${name} ${JSON.stringify(string_match)}`),
      ...(runtime_fraction ? [`below ${runtime_fraction.default_value?.numerator}`] : []),
    ];
    const route = 'route' in message ? message.route : undefined;
    const [policy] = route?.hash_policy ?? [];
    return [asked.join(), '→', route?.cluster?.split('/')[1], policy?.cookie?.name].filter(Boolean).join(' ');
  });
}

const SESSION: SessionAffinity = {
  mode: 'balanced',
  cookie: { name: 'S', secure: false },
  changeOnFailure: false,
};

test('rules of all canaries come before all weights, which add up', () => {
  const made = choices([
    canary('beta', { header: { name: 'x' }, millionths: 100 }),
    canary('gamma', { header: { name: 'y', value: 'v' }, cookie: 'c', millionths: 200 }),
  ]);
  expect(made).toEqual([
    'x: {"exact":"always"} → beta',
    'x: {"exact":"never"} → web',
    'y: {"exact":"v"} → gamma',
    'cookie c {"exact":"always"} → gamma',
    'cookie c {"exact":"never"} → web',
    'below 100 → beta',
    'below 300 → gamma',
    '→ web',
  ]);
});

test('a pattern is looked for anywhere', () => {
  expect(choices([canary('beta', { header: { name: 'x', pattern: 'a|b' } })])).toEqual([
    'x: {"safe_regex":{"regex":"(?s:.*)(?:a|b)(?s:.*)"}} → beta',
    '→ web',
  ]);
});

test('clients stay where they are, by a cookie for each side', () => {
  const known = '{"safe_regex":{"regex":".+"}}';
  const canaries = [canary('beta', { millionths: 1 }), canary('gamma', { millionths: 1 })];
  expect(choices(canaries, SESSION)).toEqual([
    `cookie S ${known} → web S`,
    `cookie S-canary ${known} → beta S-canary`,
    `cookie S-canary-2 ${known} → gamma S-canary-2`,
    'below 1 → beta S-canary',
    'below 2 → gamma S-canary-2',
    '→ web S',
  ]);
});

test('a canary that does not keep clients has no session, and its rules are asked each time', () => {
  expect(choices([canary('beta', { millionths: 1, sticky: false })], SESSION)).toEqual(['below 1 → beta', '→ web S']);
});

test('a canary chooses its endpoints in its own way', () => {
  const own = canary('beta', { millionths: 1 });
  const hashBy = { key: ['own'] };
  const canaries = [{ ...own, cluster: { ...own.cluster, policy: { hashBy } } }, canary('gamma', { millionths: 1 })];
  const { match, action } = forward('/', 'web');
  const view = { match, action: { ...action, canaries } } as RouteView;
  const keys = withCanaries(view, applyPolicies({ hashBy: { key: ['primary'] } }, routeMessage(view))).map(
    (message) => JSON.stringify(message.typed_per_filter_config)?.match(/own|primary/)?.[0],
  );
  expect(keys).toEqual(['own', undefined, 'primary']);
});
