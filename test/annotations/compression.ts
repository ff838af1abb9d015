/** Keys of the ConfigMap about compression: worlds where they are set in two ways, where nobody can read them, and where they are absent. */
import type { DifferenceName } from '../parity/differences.ts';
import type { Exchange } from '../parity/table.ts';
import { sendRaw } from '../support/http-client.ts';
import { configMap, ingress, service } from '../support/manifests.ts';
import { type Asked, ask, levelOf, readEvents, type Seen, startCompressibleBackend } from './compressible-backend.ts';
import type { AnnotationTable } from './table.ts';

const HOST = 'compressed.example.com';

function compressed(title: string, data: Readonly<Record<string, string>>, keys: AnnotationTable['keys']) {
  return {
    title: `compression: ${title}`,
    start: async () => {
      const web = await startCompressibleBackend('web');
      return {
        close: web.close,
        build: { configMap: 'default/config' },
        manifests: [
          service('web'),
          web.slice('web'),
          configMap('config', data),
          ingress({ name: 'web', rules: [{ host: HOST, paths: [{ service: 'web:80' }] }] }),
        ],
      };
    },
    keys,
  } satisfies AnnotationTable;
}

const VARIES = 'Accept-Encoding';

/** What is seen of an answer that is compressed. */
const gzip = { encoding: 'gzip', vary: VARIES } as const;
const br = { encoding: 'br', vary: VARIES } as const;
/** One that could have been, for another client. */
const not = { encoding: undefined, vary: VARIES } as const;
/** One that could not. */
const never = { encoding: undefined, vary: undefined } as const;

type Differs = Readonly<{ differs?: DifferenceName; nginx?: Partial<Seen> }>;

/** A request with `Accept-Encoding: gzip`, if it says nothing else. */
function seen(title: string, asked: Asked, expected: Partial<Seen>, { differs, nginx }: Differs = {}): Exchange {
  const request = { accept: 'gzip', ...asked };
  const all = { status: asked.status ?? 200, whole: true, etag: undefined, received: request.accept, ...expected };
  return {
    title,
    run: (ports) => ask(ports, HOST, request),
    expected: all,
    ...(differs && { differs, nginx: { ...all, ...nginx } }),
  };
}

/** The level with which an answer was compressed, out of two. */
function level(expected: number, accept: string, levels: readonly number[]): Exchange {
  return {
    title: `level ${expected}`,
    run: (ports) => levelOf(ports, HOST, { accept }, levels),
    expected,
  };
}

const GZIP_LEVELS = [1, 9];
const BROTLI_LEVELS = [4, 11];
const SSE = 'text/event-stream';

/** The statuses of answers that are compressed, of those that are not. */
const statuses = [200, 403, 404].map((status) => seen(`${status}`, { status }, gzip));
const otherStatuses = [201, 206, 400, 410, 500, 503].map((status) => seen(`${status}`, { status }, never));

/** Clients of HTTP/1.0, which are old, or are proxies. */
const oldClient: Exchange = {
  title: 'HTTP/1.0',
  run: async ({ httpPort }) => {
    const answer = await sendRaw(httpPort, `GET / HTTP/1.0\r\nHost: ${HOST}\r\nAccept-Encoding: gzip\r\n\r\n`);
    return [/^HTTP\/\d\.\d (\d+)/.exec(answer)?.[1], /\r\ncontent-encoding: *(\S+)/i.exec(answer)?.[1]];
  },
  expected: ['200', 'gzip'],
  differs: 'compressionOldClients',
  nginx: ['200', undefined],
};

/** With nothing but the switch. */
const gzipOn = compressed(
  'gzip',
  { 'use-gzip': 'true' },
  {
    'ConfigMap use-gzip': {
      good: [
        seen('for a client that takes it', {}, gzip),
        seen('not for one that does not say so', { accept: 'deflate' }, not),
        seen('not for one that does not want it', { accept: 'gzip;q=0' }, not),
        seen('among others', { accept: 'deflate, gzip;q=0.5' }, gzip),
        seen('not for any other name', { accept: 'x-gzip' }, not),
        seen('where the length is not known', { saysLength: false }, gzip),
        ...statuses,
        ...otherStatuses,
      ],
      default: [],
      neighbours: [
        seen(
          'what is encoded already',
          { headers: { 'content-encoding': 'identity' } },
          { ...never, encoding: 'identity' },
        ),
        seen('a strong ETag', { headers: { etag: '"a"' } }, { ...gzip, etag: 'W/"a"' }),
        seen('a weak ETag', { headers: { etag: 'W/"a"' } }, { ...gzip, etag: 'W/"a"' }),
        seen('an ETag of what is not compressed', { accept: 'br', headers: { etag: '"a"' } }, { ...not, etag: '"a"' }),
        seen('Cache-Control: no-transform', { headers: { 'cache-control': 'no-transform' } }, never, {
          differs: 'compressionNoTransform',
          nginx: gzip,
        }),
        seen('any encoding', { accept: '*' }, gzip, { differs: 'compressionAny', nginx: not }),
        seen('an encoding in upper case', { accept: 'GZIP' }, not, { differs: 'compressionUpperCase', nginx: gzip }),
        seen('better as it is', { accept: 'identity, gzip;q=0.5' }, not, {
          differs: 'compressionWeights',
          nginx: gzip,
        }),
        seen('HEAD', { method: 'HEAD' }, not, { differs: 'compressionHead', nginx: gzip }),
        oldClient,
      ],
    },
    'ConfigMap gzip-level': { good: [], default: [level(1, 'gzip', GZIP_LEVELS)] },
    'ConfigMap gzip-min-length': {
      good: [],
      default: [seen('255 bytes', { length: 255 }, never), seen('256 bytes', { length: 256 }, gzip)],
    },
    'ConfigMap gzip-types': {
      good: [],
      default: [
        ...['application/json', 'text/html', 'image/svg+xml', 'text/css; charset=utf-8', 'TEXT/CSS'].map((type) =>
          seen(type, { type }, gzip),
        ),
        ...['image/png', SSE, 'application/grpc', 'text/css2', 'text/'].map((type) => seen(type, { type }, never)),
        seen('without a type', { type: '' }, gzip, { differs: 'compressionWithoutType', nginx: never }),
      ],
    },
    'ConfigMap gzip-disable': { good: [], default: [seen('every agent', { agent: 'MSIE 6.0' }, gzip)] },
    'ConfigMap enable-brotli': { good: [], default: [seen('gzip alone', { accept: 'br' }, not)] },
  },
);

const bothOn = compressed(
  'gzip and brotli',
  {
    'use-gzip': 'true',
    'gzip-level': '9',
    'gzip-min-length': '1000',
    'gzip-types': `application/json\n${SSE.toUpperCase()} text/html text/css  application/x.y-z+json`,
    'gzip-disable': '^old\\.|"\\$x" \\d{2}',
    'enable-brotli': 'true',
    'brotli-level': '11',
    'brotli-min-length': '0',
    'brotli-types': 'text/css image/png',
  },
  {
    'ConfigMap enable-brotli': {
      good: [
        seen('for a client that takes it', { accept: 'br' }, br),
        seen('before gzip', { accept: 'gzip, br' }, br),
        seen('as browsers ask', { accept: 'gzip, deflate, br, zstd' }, br),
        seen('gzip for others', { accept: 'gzip' }, gzip),
        seen('nothing for others', { accept: 'zstd' }, not),
        seen('better gzip', { accept: 'br;q=0.5, gzip' }, gzip, { differs: 'compressionWeights', nginx: br }),
      ],
      default: [],
    },
    'ConfigMap gzip-level': { good: [level(9, 'gzip', GZIP_LEVELS)], default: [] },
    'ConfigMap brotli-level': { good: [level(11, 'br', BROTLI_LEVELS)], default: [] },
    'ConfigMap gzip-min-length': {
      good: [
        seen('999 bytes', { length: 999, type: 'application/json' }, never),
        seen('1000 bytes', { length: 1000, type: 'application/json' }, gzip),
        seen('999 bytes that do not say so', { length: 999, saysLength: false }, gzip),
      ],
      default: [],
    },
    'ConfigMap brotli-min-length': { good: [seen('11 bytes', { accept: 'br', length: 11 }, br)], default: [] },
    'ConfigMap gzip-types': {
      good: [
        ...['application/json', SSE, 'text/html', 'application/x.y-z+json'].map((type) => seen(type, { type }, gzip)),
        seen('text/plain', { type: 'text/plain' }, never),
        {
          title: 'events are passed on when they are sent',
          run: (ports) => readEvents(ports, HOST),
          expected: ['gzip', 'data: first\n\n', 'data: second\n\n'],
        },
      ],
      default: [],
    },
    'ConfigMap brotli-types': {
      good: [
        ...['image/png', 'text/html'].map((type) => seen(type, { accept: 'br', type }, br)),
        seen('application/json', { accept: 'br', type: 'application/json' }, not),
        seen('text/plain', { accept: 'br', type: 'text/plain' }, never),
      ],
      default: [],
    },
    'ConfigMap gzip-disable': {
      good: [
        seen('the beginning', { agent: 'Old.Browser/1', type: 'application/json' }, never, {
          differs: 'compressionAgents',
          nginx: not,
        }),
        seen('a part of it', { agent: 'a "$x" 12 b', type: 'application/json' }, never, {
          differs: 'compressionAgents',
          nginx: not,
        }),
        seen('another', { agent: 'An old.Browser/1', type: 'application/json' }, gzip),
        seen('brotli goes on', { accept: 'gzip, br', agent: 'old.' }, br),
      ],
      default: [],
    },
  },
);

const everyType = compressed(
  'every type',
  { 'use-gzip': 'true', 'gzip-types': '*', 'gzip-disable': 'msie6', 'gzip-min-length': '0' },
  {
    'ConfigMap gzip-types': {
      good: ['image/png', 'a/b', ''].map((type) => seen(`the type ${type}`, { type }, gzip)),
      default: [],
    },
    'ConfigMap gzip-disable': {
      good: [
        seen('Internet Explorer 6', { agent: 'Mozilla/4.0 (compatible; MSIE 6.0)' }, never, {
          differs: 'compressionAgents',
          nginx: not,
        }),
        seen('Internet Explorer 7', { agent: 'Mozilla/4.0 (compatible; MSIE 7.0)' }, gzip),
      ],
      default: [],
    },
    'ConfigMap gzip-min-length': {
      good: [
        {
          url: 'http://nobody.example.com/',
          headers: { 'accept-encoding': 'gzip' },
          status: 404,
          answered: gzipOf('404'),
        },
      ],
      default: [],
    },
  },
);

/** What the proxy itself answers is compressed like everything else. */
function gzipOf(_status: string) {
  return { 'content-encoding': 'gzip', vary: VARIES };
}

const brotliOn = compressed(
  'brotli',
  { 'enable-brotli': 'true' },
  {
    'ConfigMap use-gzip': { good: [], default: [seen('brotli alone', {}, not)] },
    'ConfigMap brotli-level': { good: [], default: [level(4, 'br', BROTLI_LEVELS)] },
    'ConfigMap brotli-min-length': {
      good: [],
      default: [
        seen('19 bytes', { accept: 'br', length: 19 }, never),
        seen('20 bytes', { accept: 'br', length: 20 }, br),
      ],
    },
    'ConfigMap brotli-types': {
      good: [],
      default: [seen('text/css', { accept: 'br' }, br), seen('image/png', { accept: 'br', type: 'image/png' }, never)],
    },
  },
);

const unreadable = compressed(
  'values that nobody can read',
  {
    'use-gzip': 'true',
    'gzip-level': '10',
    'gzip-min-length': '-1',
    'gzip-types': 'image/png text/*',
    'gzip-disable': '\\Qx',
    'enable-brotli': 'true',
    'brotli-level': '12',
    'brotli-min-length': '1k',
    'brotli-types': 'image/png,text/css',
  },
  {
    'ConfigMap gzip-level': { good: [], bad: [level(1, 'gzip', GZIP_LEVELS)], default: [] },
    'ConfigMap gzip-min-length': {
      good: [],
      bad: [seen('255 bytes', { length: 255 }, not), seen('256 bytes', { length: 256 }, gzip)],
      default: [],
    },
    'ConfigMap gzip-types': {
      good: [],
      bad: [seen('text/css', {}, gzip), seen('image/png', { type: 'image/png' }, never)],
      default: [],
    },
    'ConfigMap gzip-disable': { good: [], bad: [seen('any agent', { agent: 'x' }, gzip)], default: [] },
    'ConfigMap brotli-level': { good: [], bad: [level(4, 'br', BROTLI_LEVELS)], default: [] },
    'ConfigMap brotli-min-length': {
      good: [],
      bad: [seen('20 bytes', { accept: 'br', length: 20 }, br)],
      default: [],
    },
    'ConfigMap brotli-types': {
      good: [],
      bad: [seen('text/css', { accept: 'br' }, br), seen('image/png', { accept: 'br', type: 'image/png' }, never)],
      default: [],
    },
  },
);

const off = seen('nothing', { accept: 'gzip, br' }, never);

export const compressionTables: readonly AnnotationTable[] = [
  gzipOn,
  bothOn,
  everyType,
  brotliOn,
  unreadable,
  compressed(
    'switches that nobody can read',
    { 'use-gzip': 'on', 'enable-brotli': 'yes' },
    {
      'ConfigMap use-gzip': { good: [], bad: [off], default: [] },
      'ConfigMap enable-brotli': { good: [], bad: [off], default: [] },
    },
  ),
  compressed('off', {}, { 'ConfigMap use-gzip': { good: [], default: [off] } }),
];
