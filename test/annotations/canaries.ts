import { observe, startWith } from '../envoy/behaviour/cases.ts';
import type { Ports } from '../parity/table.ts';
import { endpointSlice, ingress, type Manifest, service } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

type Annotations = Readonly<Record<string, string>>;

/** A host with a primary, and the canary of it. */
function pair(
  name: string,
  annotations: Annotations,
  { primary = {}, to = 'beta:80', from = 'web:80' }: { primary?: Annotations; to?: string; from?: string } = {},
): Manifest[] {
  const host = `${name}.canary.example.com`;
  const rules = (service: string) => [{ host, paths: [{ path: '/', service }] }];
  return [
    ingress({ name, annotations: annotated(primary), created: '2026-01-01T00:00:00Z', rules: rules(from) }),
    ingress({
      name: `${name}-canary`,
      annotations: annotated({ canary: 'true', ...annotations }),
      created: '2026-01-02T00:00:00Z',
      rules: rules(to),
    }),
  ];
}

/** The canary; nginx without its Lua module knows the primary alone. */
const BETA = { backend: 'beta', withoutLua: { backend: 'web' } };

const ALWAYS = { 'x-canary': 'always' };
const NEVER = { 'x-canary': 'never' };

/** How many of some requests the canary answers. */
async function sharesOf(ports: Ports, url: string, requests = 200): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: requests }, () => observe(ports, { url })));
  const shares: Record<string, number> = {};
  for (const { received } of answers) {
    const backend = received?.backend ?? 'none';
    shares[backend] = (shares[backend] ?? 0) + 1;
  }
  return shares;
}

/** For a share of about `percent`: of 200 requests six times the standard deviation is not passed by chance. */
async function isAbout(ports: Ports, url: string, percent: number): Promise<string> {
  const requests = 200;
  const { beta = 0, none = 0 } = await sharesOf(ports, url, requests);
  const expected = (requests * percent) / 100;
  const deviation = Math.sqrt(expected * (1 - percent / 100));
  return none === 0 && Math.abs(beta - expected) <= 6 * deviation ? `about ${percent} %` : `${beta} of ${requests}`;
}

/** The backends that answer a client which keeps its cookies, one after another, each once. */
async function followed(ports: Ports, url: string, headers: Annotations = {}): Promise<string[]> {
  const cookies = new Map<string, string>();
  const backends = new Set<string>();
  for (let request = 0; request < 8; request++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    // The rule speaks for the canary on the first request alone.
    const { answer, received } = await observe(ports, {
      url,
      headers: request === 0 ? headers : { ...(cookie !== '' && { cookie }) },
    });
    backends.add(received?.backend ?? 'none');
    for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
  }
  return [...backends];
}

export const canaries: AnnotationTable = {
  title: 'canaries',
  start: startWith(['web', 'beta'], () => [
    service('empty'),
    endpointSlice('empty', []),
    ...pair('off', { canary: 'false', 'canary-weight': '100' }),
    ...pair('bad', { canary: 'yes', 'canary-weight': '100' }),
    ...pair('all', { 'canary-weight': '100' }),
    ...pair('none', {}),
    ...pair('some', { 'canary-weight': '30' }),
    ...pair('bad-weight', { 'canary-weight': 'half' }),
    ...pair('of-total', { 'canary-weight': '200', 'canary-weight-total': '1000' }),
    ...pair('of-few', { 'canary-weight': '20', 'canary-weight-total': '20' }),
    ...pair('of-bad', { 'canary-weight': '100', 'canary-weight-total': 'all' }),
    ...pair('header', { 'canary-by-header': 'X-Canary' }),
    ...pair('header-weight', { 'canary-by-header': 'X-Canary', 'canary-weight': '100' }),
    ...pair('bad-header', { 'canary-by-header': 'X Canary' }),
    ...pair('value', { 'canary-by-header': 'X-Canary', 'canary-by-header-value': 'beta' }),
    ...pair('bad-value', { 'canary-by-header': 'X-Canary', 'canary-by-header-value': '(beta)' }),
    ...pair('pattern', { 'canary-by-header': 'X-Canary', 'canary-by-header-pattern': 'beta|b[0-9]' }),
    ...pair('bad-pattern', { 'canary-by-header': 'X-Canary', 'canary-by-header-pattern': '(?=beta)' }),
    ...pair('cookie', { 'canary-by-cookie': 'stage' }),
    ...pair('bad-cookie', { 'canary-by-cookie': '{stage}' }),
    ...pair('both', { 'canary-by-header': 'X-Canary', 'canary-by-cookie': 'stage' }),
    ...pair('to-empty', { 'canary-weight': '100' }, { to: 'empty:80' }),
    ...pair('from-empty', { 'canary-weight': '100' }, { from: 'empty:80' }),
    ...pair('sticky', { 'canary-by-header': 'X-Canary' }, { primary: SESSION }),
    ...pair('sticky-balanced', { 'canary-by-header': 'X-Canary' }, { primary: { affinity: 'cookie' } }),
    ...pair('bad-behavior', { 'canary-by-header': 'X-Canary', 'affinity-canary-behavior': 'x' }, { primary: SESSION }),
    ...pair('legacy', { 'canary-by-header': 'X-Canary', 'affinity-canary-behavior': 'legacy' }, { primary: SESSION }),
    ingress({
      name: 'lonely',
      annotations: annotated({ canary: 'true', 'canary-weight': '100' }),
      rules: [{ host: 'lonely.canary.example.com', paths: [{ service: 'beta:80' }] }],
    }),
    ...pair(
      'denied',
      { 'canary-weight': '100', 'ssl-redirect': 'false' },
      { primary: { 'force-ssl-redirect': 'true' } },
    ),
  ]),
  keys: {
    canary: {
      good: [{ url: 'http://all.canary.example.com/a?b', ...BETA, path: '/a?b' }],
      bad: [{ url: 'http://bad.canary.example.com/', backend: 'web', because: 'an Ingress like others, and younger' }],
      default: [{ url: 'http://off.canary.example.com/', backend: 'web' }],
      neighbours: [
        { url: 'http://lonely.canary.example.com/', status: 404, because: 'a canary alone serves nothing' },
        { url: 'http://to-empty.canary.example.com/', backend: 'web', because: 'the canary has no endpoints' },
        { url: 'http://from-empty.canary.example.com/', status: 503, because: 'the primary has no endpoints' },
        { url: 'http://denied.canary.example.com/', status: 308, because: 'the primary says so' },
        { url: 'https://denied.canary.example.com/', ...BETA },
      ],
    },
    'canary-weight': {
      good: [
        {
          title: 'its share of the requests',
          run: (ports) => isAbout(ports, 'http://some.canary.example.com/', 30),
          expected: 'about 30 %',
          withoutLua: '0 of 200',
        },
      ],
      bad: [{ url: 'http://bad-weight.canary.example.com/', backend: 'web' }],
      default: [{ url: 'http://none.canary.example.com/', backend: 'web' }],
    },
    'canary-weight-total': {
      good: [
        {
          title: 'the share of the total',
          run: (ports) => isAbout(ports, 'http://of-total.canary.example.com/', 20),
          expected: 'about 20 %',
          withoutLua: '0 of 200',
        },
      ],
      bad: [{ url: 'http://of-bad.canary.example.com/', ...BETA, because: '100 of 100' }],
      default: [
        {
          title: 'less than 100 is 100',
          run: (ports) => isAbout(ports, 'http://of-few.canary.example.com/', 20),
          expected: 'about 20 %',
          withoutLua: '0 of 200',
        },
      ],
    },
    'canary-by-header': {
      good: [
        { url: 'http://header.canary.example.com/', headers: ALWAYS, ...BETA },
        { url: 'http://header-weight.canary.example.com/', headers: NEVER, backend: 'web' },
        { url: 'http://header-weight.canary.example.com/', headers: { 'x-canary': 'perhaps' }, ...BETA },
      ],
      bad: [{ url: 'http://bad-header.canary.example.com/', headers: ALWAYS, backend: 'web' }],
      default: [{ url: 'http://none.canary.example.com/', headers: ALWAYS, backend: 'web' }],
      neighbours: [
        {
          url: 'http://both.canary.example.com/',
          headers: { ...NEVER, cookie: 'stage=always' },
          backend: 'web',
          because: 'the header counts before the cookie',
        },
      ],
    },
    'canary-by-header-value': {
      good: [
        { url: 'http://value.canary.example.com/', headers: { 'x-canary': 'beta' }, ...BETA },
        { url: 'http://value.canary.example.com/', headers: ALWAYS, backend: 'web', because: 'it is another value' },
      ],
      bad: [{ url: 'http://bad-value.canary.example.com/', headers: ALWAYS, ...BETA }],
      default: [{ url: 'http://header.canary.example.com/', headers: { 'x-canary': 'beta' }, backend: 'web' }],
    },
    'canary-by-header-pattern': {
      good: [
        { url: 'http://pattern.canary.example.com/', headers: { 'x-canary': 'my-b7-x' }, ...BETA },
        { url: 'http://pattern.canary.example.com/', headers: ALWAYS, backend: 'web' },
      ],
      bad: [{ url: 'http://bad-pattern.canary.example.com/', headers: ALWAYS, ...BETA }],
      default: [{ url: 'http://header.canary.example.com/', headers: { 'x-canary': 'b7' }, backend: 'web' }],
    },
    'canary-by-cookie': {
      good: [
        { url: 'http://cookie.canary.example.com/', headers: { cookie: 'a=b; stage=always' }, ...BETA },
        { url: 'http://cookie.canary.example.com/', headers: { cookie: 'stage=never' }, backend: 'web' },
        { url: 'http://both.canary.example.com/', headers: { cookie: 'stage=always' }, ...BETA },
      ],
      bad: [{ url: 'http://bad-cookie.canary.example.com/', headers: { cookie: 'stage=always' }, backend: 'web' }],
      default: [{ url: 'http://none.canary.example.com/', headers: { cookie: 'stage=always' }, backend: 'web' }],
    },
    'affinity-canary-behavior': {
      good: [
        {
          title: 'the rules are asked each time',
          run: (ports) => followed(ports, 'http://legacy.canary.example.com/', ALWAYS),
          expected: ['beta', 'web'],
          withoutLua: ['web'],
        },
      ],
      bad: [
        {
          title: 'a client stays with the canary',
          run: (ports) => followed(ports, 'http://bad-behavior.canary.example.com/', ALWAYS),
          expected: ['beta'],
          withoutLua: ['web'],
        },
      ],
      default: [
        {
          title: 'a client stays with the canary',
          run: (ports) => followed(ports, 'http://sticky.canary.example.com/', ALWAYS),
          expected: ['beta'],
          withoutLua: ['web'],
        },
        {
          title: 'a client stays with the primary',
          run: (ports) => followed(ports, 'http://sticky.canary.example.com/'),
          expected: ['web'],
        },
        {
          title: 'a client stays with the canary, in balanced mode',
          run: (ports) => followed(ports, 'http://sticky-balanced.canary.example.com/', ALWAYS),
          expected: ['beta'],
          withoutLua: ['web'],
        },
      ],
    },
  },
};

const SESSION = { affinity: 'cookie', 'affinity-mode': 'persistent' };
