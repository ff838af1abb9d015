import type { Exchange, Ports } from '../parity/table.ts';
import { type Backend, type Received, startBackend } from '../support/backend.ts';
import { send } from '../support/http-client.ts';
import { configMap, ingress, type Manifest, service } from '../support/manifests.ts';
import { type AnnotationTable, annotated, type KeyCases } from './table.ts';

const DOMAIN = 'choice.example.com';

function host(name: string, to: string, annotations: Readonly<Record<string, string>> = {}): Manifest {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.${DOMAIN}`, paths: [{ path: '/', service: `${to}:80` }] }],
  });
}

/** Which backend answers. */
async function ask({ httpPort }: Ports, name: string, path = '/', headers: Readonly<Record<string, string>> = {}) {
  const { status, body } = await send({ port: httpPort, host: `${name}.${DOMAIN}`, path, headers });
  return status === 200 ? (JSON.parse(body) as Pick<Received, 'backend'>).backend : String(status);
}

/** The backends that answer several equal requests. */
async function answering(
  ports: Ports,
  ...request: [name: string, path?: string, headers?: Readonly<Record<string, string>>]
) {
  const seen = new Set<string>();
  for (let count = 0; count < 9; count++) seen.add(await ask(ports, ...request));
  return seen;
}

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** Whether equal paths lead to the same of three endpoints, and different ones to different ones. */
function byPath(
  title: string,
  name: string,
  expected: { readonly stays: boolean; readonly spreads: boolean },
): Exchange {
  return {
    title,
    run: async (ports) => {
      const sets = await Promise.all(KEYS.map((key) => answering(ports, name, `/${key}`)));
      const all = new Set(sets.flatMap((seen) => [...seen]));
      return { stays: sets.every(({ size }) => size === 1), spreads: all.size > 1 };
    },
    expected,
  };
}

/** Whether a backend that takes its time gets clearly fewer requests than one that does not, of those that several clients send. */
function sparesSlow(name: string, expected: boolean): Exchange {
  return {
    title: `${name}: a slow endpoint is ${expected ? 'spared' : 'asked as often as the other'}`,
    run: async (ports) => {
      const seen: string[] = [];
      const client = async () => {
        for (let count = 0; count < 15; count++) seen.push(await ask(ports, name));
      };
      await Promise.all(Array.from({ length: 8 }, client));
      return seen.filter((backend) => backend === 'slow').length < 0.42 * seen.length;
    },
    expected,
  };
}

async function startPods(): Promise<{ readonly manifests: readonly Manifest[]; readonly close: () => Promise<void> }> {
  const slow = await startBackend('slow', (_, response) => {
    setTimeout(() => response.end(JSON.stringify({ backend: 'slow' })), 40);
  });
  const fast = await startBackend('fast', (_, response) => response.end(JSON.stringify({ backend: 'fast' })));
  const pods: readonly Backend[] = await Promise.all(['one', 'two', 'three'].map((name) => startBackend(name)));
  return {
    manifests: [
      service('pods'),
      ...pods.map((pod) => pod.slice('pods')),
      service('uneven'),
      slow.slice('uneven'),
      fast.slice('uneven'),
    ],
    close: async () => {
      await Promise.all([slow, fast, ...pods].map((pod) => pod.close()));
    },
  };
}

export const loadBalancing: AnnotationTable = {
  title: 'choice of endpoints',
  start: async () => {
    const pods = await startPods();
    return {
      close: pods.close,
      manifests: [
        ...pods.manifests,
        host('default', 'pods'),
        host('uneven', 'uneven'),
        host('ewma', 'uneven', { 'load-balance': 'ewma' }),
        host('round-robin', 'uneven', { 'load-balance': ' round_robin' }),
        host('internal', 'uneven', { 'load-balance': 'chash' }),
        host('bad', 'uneven', { 'load-balance': 'random' }),
        host('uri', 'pods', { 'upstream-hash-by': '$request_uri' }),
        host('uri-ewma', 'pods', { 'upstream-hash-by': '$request_uri', 'load-balance': 'ewma' }),
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is meant for nginx
        host('header', 'pods', { 'upstream-hash-by': 'user-${http_x_user}' }),
        host('cookie', 'pods', { 'upstream-hash-by': '$cookie_user' }),
        host('argument', 'pods', { 'upstream-hash-by': '$arg_user' }),
        host('address', 'pods', { 'upstream-hash-by': '$binary_remote_addr' }),
        host('unknown', 'pods', { 'upstream-hash-by': '$nothing' }),
        host('bad-hash', 'pods', { 'upstream-hash-by': '$request_uri;' }),
        host('subset', 'pods', {
          'upstream-hash-by': '$request_uri',
          'upstream-hash-by-subset': 'true',
          'upstream-hash-by-subset-size': '2',
        }),
        host('subset-alone', 'pods', { 'upstream-hash-by-subset': 'true' }),
        host('bad-subset', 'pods', { 'upstream-hash-by': '$request_uri', 'upstream-hash-by-subset': 'yes' }),
        host('bad-size', 'pods', { 'upstream-hash-by': '$request_uri', 'upstream-hash-by-subset-size': 'two' }),
      ],
    };
  },
  keys: {
    'load-balance': {
      good: [sparesSlow('ewma', true), sparesSlow('round-robin', false), sparesSlow('internal', false)],
      bad: [{ url: `http://bad.${DOMAIN}/`, status: 404, because: 'the Ingress is not taken' }],
      default: [sparesSlow('uneven', false)],
      neighbours: [byPath('load-balance beside upstream-hash-by', 'uri-ewma', { stays: true, spreads: true })],
    },
    'upstream-hash-by': {
      good: [
        byPath('a path with its query', 'uri', { stays: true, spreads: true }),
        {
          title: 'a header, a cookie, a parameter, or none of them',
          run: async (ports) => {
            const users = ['1', '2', '3', '4', '5', '6', '7', '8'];
            const spread = async (name: string, request: (user: string) => [string, Record<string, string>]) => {
              const sets = await Promise.all(users.map((user) => answering(ports, name, ...request(user))));
              const all = new Set(sets.flatMap((seen) => [...seen]));
              return sets.every(({ size }) => size === 1) && all.size > 1;
            };
            return {
              header: await spread('header', (user) => ['/', { 'x-user': user }]),
              cookie: await spread('cookie', (user) => ['/', { cookie: `a=b; user=${user}` }]),
              argument: await spread('argument', (user) => [`/?a=b&user=${user}`, {}]),
              none: (await answering(ports, 'header')).size,
              address: (await answering(ports, 'address')).size,
            };
          },
          expected: { header: true, cookie: true, argument: true, none: 1, address: 1 },
        },
      ],
      bad: [{ url: `http://bad-hash.${DOMAIN}/`, status: 404, because: 'the Ingress is not taken' }],
      default: [byPath('without it', 'default', { stays: false, spreads: true })],
      neighbours: [byPath('a variable that is not known', 'unknown', { stays: false, spreads: true })],
    },
    'upstream-hash-by-subset': {
      good: [
        {
          title: 'equal paths lead to few endpoints',
          run: async (ports) => {
            const sets = await Promise.all(KEYS.map((key) => answering(ports, 'subset', `/${key}`)));
            return {
              few: sets.every(({ size }) => size <= 2),
              all: new Set(sets.flatMap((seen) => [...seen])).size > 1,
            };
          },
          expected: { few: true, all: true },
        },
      ],
      bad: [{ url: `http://bad-subset.${DOMAIN}/`, status: 404, because: 'the Ingress is not taken' }],
      default: [byPath('without it', 'uri', { stays: true, spreads: true })],
      neighbours: [byPath('without upstream-hash-by', 'subset-alone', { stays: false, spreads: true })],
    },
    'upstream-hash-by-subset-size': {
      good: [{ title: 'it is taken', run: async (ports) => (await ask(ports, 'subset')) !== '404', expected: true }],
      bad: [{ url: `http://bad-size.${DOMAIN}/`, status: 404, because: 'the Ingress is not taken' }],
      default: [byPath('without it', 'uri', { stays: true, spreads: true })],
    },
  },
};

/** What holds for all Ingresses. */
function inConfigMap(title: string, value: string | undefined, cases: KeyCases): AnnotationTable {
  return {
    title: `choice of endpoints by the ConfigMap: ${title}`,
    start: async () => {
      const pods = await startPods();
      return {
        close: pods.close,
        build: { configMap: 'default/config' },
        manifests: [
          ...pods.manifests,
          configMap('config', value === undefined ? {} : { 'load-balance': value }),
          host('plain', 'uneven'),
          host('round-robin', 'uneven', { 'load-balance': 'round_robin' }),
        ],
      };
    },
    keys: { 'ConfigMap load-balance': cases },
  };
}

export const loadBalancingOfConfigMap: readonly AnnotationTable[] = [
  inConfigMap('ewma', 'ewma', {
    good: [sparesSlow('plain', true)],
    default: [],
    neighbours: [sparesSlow('round-robin', false)],
  }),
  inConfigMap('none', undefined, { good: [], default: [sparesSlow('plain', false)] }),
  inConfigMap('not readable', 'random', { good: [], bad: [sparesSlow('plain', false)], default: [] }),
];
