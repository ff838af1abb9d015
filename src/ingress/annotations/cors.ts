import type { AllowedOrigin, CorsPolicy } from '../../model/cors.ts';
import { annotationFeature, type Finding, leftoverFindings } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { boolean, integer, splitList, textOf } from '../declaration/codecs.ts';
import { tooLong } from '../declaration/list-limit.ts';
import { HONOURED } from '../declaration/support.ts';
import { quote } from '../diagnose.ts';

const common = { scope: 'paths', whenInvalid: 'default', envoy: HONOURED, nginx: HONOURED } as const;

/** What is allowed of the origins, and what of them is none. */
interface Origins {
  readonly allowed: CorsPolicy['origins'];
  readonly unusable: readonly string[];
}

const origins = codec<Origins>('`*`, `null` or a list of origins such as https://*.example.com', (text) => {
  const written = splitList(text);
  if (written.includes('*')) return { allowed: 'any', unusable: [] };
  const parsed = written.map((one) => ({ one, origin: parseOrigin(one) }));
  const allowed = parsed.flatMap(({ origin }) => (origin === undefined ? [] : [origin]));
  const unusable = parsed.flatMap(({ one, origin }) => (origin === undefined ? [one] : []));
  return allowed.length === 0 ? undefined : { allowed, unusable };
});

/** `scheme://host`, with a port or a wildcard for one label perhaps. */
function parseOrigin(text: string): AllowedOrigin | undefined {
  if (text === 'null') return { scheme: undefined };
  const [, scheme, wildcard, host, port] =
    /^([a-z][a-z0-9+.-]{0,62}):\/\/(\*\.)?([a-z0-9.-]{1,253})(?::(\d{1,5}))?$/i.exec(text) ?? [];
  if (scheme === undefined || host === undefined) return undefined;
  return { scheme, host, oneLabelBefore: wildcard !== undefined, ...(port !== undefined && { port: Number(port) }) };
}

/** Items between commas, of which the text stays as it is written. */
function listText(what: string, item: string) {
  const pattern = new RegExp(`^${item}(?:,${item})*,?$`);
  return codec(what, (text) => (pattern.test(text.replaceAll(' ', '')) ? text : undefined));
}

const DEFAULT_METHODS = 'GET, PUT, POST, DELETE, PATCH, OPTIONS';
const DEFAULT_HEADERS =
  'DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization';
const DEFAULT_MAX_AGE = 1_728_000;

export const cors = annotationFeature({
  title: 'Cross-origin requests (CORS)',
  keys: {
    'enable-cors': {
      ...common,
      codec: boolean,
      risk: 'Low',
      default: 'false',
      summary:
        'Whether every answer carries the headers that let other origins read it, and `OPTIONS` is answered 204 before any redirect or check of access.',
      example: 'true',
    },
    'cors-allow-origin': {
      ...common,
      codec: origins,
      risk: 'Medium',
      default: '*',
      summary:
        'The origins that may read answers: `*`, `null`, or a list. `*.` stands for one label. Requests of all others are passed on, and answered without these headers.',
      example: 'https://app.example.com, https://*.example.org:8443',
    },
    'cors-allow-methods': {
      ...common,
      codec: listText('a list of methods', '[A-Za-z]+'),
      risk: 'Medium',
      default: DEFAULT_METHODS,
      summary: '`Access-Control-Allow-Methods`, as it is written.',
      example: 'GET, POST',
    },
    'cors-allow-headers': {
      ...common,
      codec: textOf('headerList', 'a list of headers'),
      risk: 'Medium',
      default: DEFAULT_HEADERS,
      summary: '`Access-Control-Allow-Headers`, as it is written.',
      example: 'Authorization, X-Token',
    },
    'cors-expose-headers': {
      ...common,
      codec: listText('`*` or a list of headers', '(?:[A-Za-z0-9_-]+|\\*)'),
      risk: 'Medium',
      summary: '`Access-Control-Expose-Headers`, as it is written.',
      example: 'X-Total, X-Page',
    },
    'cors-allow-credentials': {
      ...common,
      codec: boolean,
      risk: 'Low',
      default: 'true',
      summary:
        'Whether `Access-Control-Allow-Credentials: true` is sent. Browsers heed it with a list of origins only.',
      example: 'false',
    },
    'cors-max-age': {
      ...common,
      codec: integer({ of: 'seconds' }),
      risk: 'Low',
      default: String(DEFAULT_MAX_AGE),
      summary: '`Access-Control-Max-Age`: for how many seconds browsers remember the answer to `OPTIONS`.',
      example: '600',
    },
  },
  apply(values, { ingress }) {
    if (values['enable-cors'] !== true) {
      const details = Object.keys(values).filter((name) => name !== 'enable-cors');
      return { warnings: leftoverFindings(details, 'it has no effect without enable-cors: "true"') };
    }
    const exposed = values['cors-expose-headers'];
    const { allowed, unusable } = values['cors-allow-origin'] ?? { allowed: 'any' as const, unusable: [] };
    const reason = allowed === 'any' ? undefined : tooLong(allowed.length, ingress);
    if (reason !== undefined)
      return { warnings: [{ annotation: 'cors-allow-origin', reason: `${reason}; no origin may read answers` }] };
    return {
      route: {
        cors: {
          origins: allowed,
          methods: values['cors-allow-methods'] ?? DEFAULT_METHODS,
          headers: values['cors-allow-headers'] ?? DEFAULT_HEADERS,
          ...(exposed !== undefined && { exposedHeaders: exposed }),
          credentials: values['cors-allow-credentials'] ?? true,
          maxAgeSeconds: values['cors-max-age'] ?? DEFAULT_MAX_AGE,
        },
      },
      warnings: unusable.map(leftOut),
    };
  },
});

function leftOut(origin: string): Finding {
  const reason = `${quote(origin)} is no origin such as https://app.example.com or https://*.example.com; it is left out`;
  return { annotation: 'cors-allow-origin', reason };
}
