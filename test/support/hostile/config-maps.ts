/** ConfigMaps with whatever users could write: every key with each of many values, and a few keys at a time. */
import fc from 'fast-check';
import { configMapKeys } from '../../../src/ingress/config-map/keys.ts';
import { logVariableNames } from '../../../src/model/log-format.ts';
import { nginxVariables } from '../../../src/model/nginx-variables.ts';

type Data = Readonly<Record<string, string>>;

const many = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index));

const TAKES_ARGUMENT: ReadonlySet<string> = new Set(['arg', 'cookie', 'http', 'sent_http', 'upstream_http', 'geoip2']);

const NUMBERS: readonly string[] = [
  ...['0', '1', '2', '3', '63', '64', '65', '100', '301', '404', '499', '511', '512', '1023', '1024', '4095', '4096'],
  ...['65535', '65536', '1048576', '2000000', '16777216', '315360000', '2147483647', '2147483648', '4294967295'],
  ...['4294967296', '9007199254740991', '99999999999999999999', '-1', '+5', '1.5', '0.0000001', '1e3', '0x10', '1_0'],
];

const SIZES_AND_TIMES: readonly string[] = [
  ...[
    '0k',
    '1k',
    '3k',
    '8k',
    '64k',
    '1m',
    '2m',
    '8m',
    '64m',
    '512m',
    '1g',
    '4g',
    '1024g',
    '8388607g',
    '9007199254740991b',
  ],
  ...['0s', '1ms', '500ms', '59s', '5m', '1h', '1d', '365d', '68y', '10000w', '600000h', '1h 30m', '60 s'],
  ...['4 8k', '1 1k', '1 8m', '1024 8k', '8 1m', '0 0', '9999 1k', '4,8k'],
];

const WORDS: readonly string[] = [
  ...['', ' ', 'true', 'false', 'on', 'off', 'yes', 'auto', 'default', 'none', 'any', 'all', 'include', 'volatile'],
  ...['basic', 'round_robin', 'ewma', 'debug', '1.1', '2', 'Critical', 'Low', 'TLSv1', 'TLSv1.2 TLSv1.3', 'TLSv1.3'],
  ...['HIGH:!aNULL', 'ECDHE-RSA-AES128-GCM-SHA256', 'TLS_AES_128_GCM_SHA256', 'X25519', 'X25519:P-256:nonsense'],
  ...['01 10', 'auto 0101', 'error timeout non_idempotent', 'http_404', '/', '/a', '/a?b', '$host', '$remote_addr'],
  ...['X-A', 'x_y', 'X Y', ':path', 'host', 'connection', 'x-envoy-retry-on', 'X-A,X-B,x-a', 'X'.repeat(300)],
  ...['127.0.0.1', '127.0.0.2,127.0.0.3', '::1', '127.0.0.1,127.0.0.1', '0.0.0.0', 'localhost', 'example.com:80'],
  ...[
    '10.0.0.0/8',
    '10.0.0.1/8,10.0.0.0/8,10.0.0.0/8',
    '0.0.0.0/0,::/0',
    '10.0.0.0/99',
    '::ffff:10.0.0.1/104',
    '300.1.1.1',
  ],
  ...['text/html', 'text/html,text/css', '*', 'a/b\r\nc: d', 'http://127.0.0.1:4318/a', 'https://$host/auth?a=b'],
  ...['default/requests', 'default/answers', 'default/nowhere', 'a/b/c', '/', 'default/config'],
];

/** Lists and expressions of `block-…` and `skip-…`. */
const PATTERNS: readonly string[] = [
  ...[
    'a,A',
    'a,a,a',
    '~a,~a',
    '~*a,~a',
    '\\,a',
    'default',
    'hostnames',
    'x'.repeat(499),
    'x'.repeat(512),
    'ä'.repeat(512),
  ],
  ...[
    '"'.repeat(512),
    '\\'.repeat(512),
    '~(',
    '~*',
    '~^/a$',
    '~(a+)+$',
    `~${'a?'.repeat(255)}`,
    `~${'(a*)*'.repeat(100)}`,
  ],
  ...[
    '~[^a]{1000}',
    `~${'[a-zA-Z0-9]{1,100}'.repeat(25)}`,
    '~(((a{1,9}){1,9}){1,9}){1,9}',
    '~\\p{L}{100}',
    '~(?i)\\w{500}',
  ],
  ...[
    `~${'|'.repeat(500)}`,
    `~${'('.repeat(250)}${')'.repeat(250)}`,
    "~'",
    '~\\',
    '~\\x{10FFFF}',
    '~%',
    '~ä+',
    '~\\Q',
    '~(?<n>a)',
  ],
  many(3_000, (index) => `bot-${index}`).join(','),
  many(1_000, (index) => `~bot-${index}`).join(','),
  many(200, (index) => `~*${'[a-z]{1,50}'.repeat(10)}${index}`).join(','),
  many(2_000, (index) => `10.${index >> 8}.${index & 255}.0/24`).join(','),
];

/** Formats and templates of two proxies. */
const FORMATS: readonly string[] = [
  logVariableNames.map((name) => `$${name}${TAKES_ARGUMENT.has(name) ? '_a' : ''}`).join(' '),
  [...nginxVariables.every, ...nginxVariables.some].map((name) => `$${name.replace('…', 'a')}`).join(' '),
  ...[
    '$',
    '$$',
    '$1',
    '${',
    '$\u007bhost}',
    '$\u007bhost',
    '$unknown',
    '$request_uri$host',
    '%',
    '%%',
    '%REQ(x)%',
    '%CEL(',
    '100%',
  ],
  ...[
    "$arg_a'b",
    '$arg_a',
    '$cookie_b',
    '$http_x',
    '$sent_http_x',
    '$upstream_http_x',
    '$http_',
    '$http__',
    '$arg_',
    '$cookie__',
  ],
  ...[`$http_${'a'.repeat(300)}`, `$arg_${'a'.repeat(3_000)}`, `$cookie_${'_'.repeat(200)}`, '$request '.repeat(300)],
  ...['$http_user_agent'.repeat(2_000), 'x'.repeat(4_090), 'x'.repeat(5_000), '"'.repeat(5_000), '$'.repeat(5_000)],
  ...[
    '"',
    "'",
    '\\',
    '\\"',
    '";',
    '{',
    '}',
    ';',
    '#',
    '\n',
    'two\nlines',
    '\t',
    'a\tb',
    '\u0000',
    '\u007f',
    'ä€',
    '\u{1f600}',
    '\ud800',
  ],
  ...[
    "'; return 200 'owned",
    ']] os.execute("id") --[[',
    '<%= it %>',
    '{{ .Host }}',
    '\u2028',
    `${'x'.repeat(70_000)}`,
  ],
];

const HOSTILE_VALUES: readonly string[] = [...NUMBERS, ...SIZES_AND_TIMES, ...WORDS, ...PATTERNS, ...FORMATS];

/** They silence others, so they are rarely there. */
const SILENCING: ReadonlySet<string> = new Set(['disable-access-log', 'disable-http-access-log']);

/** An address that the machine has not is for whoever runs it: nothing can be bound there. */
const ON_EVERY_MACHINE = /^(?:127\.0\.0\.1|0\.0\.0\.0)$/;

const declared = Object.entries(configMapKeys);

/** The value, or one that is always possible. */
function possible(key: string, value: string): string {
  const isForeign = key === 'bind-address' && /\d\.\d|::/.test(value) && !ON_EVERY_MACHINE.test(value);
  return isForeign ? '127.0.0.1' : value;
}

/** As many as there are values: each has every key, and all of them together give every key each of the values. */
export function everyKeyWithEveryValue(): Data[] {
  return HOSTILE_VALUES.map((_, round) =>
    Object.fromEntries(
      declared.flatMap(([key], index): [string, string][] => {
        const value = HOSTILE_VALUES[(round + index * 7) % HOSTILE_VALUES.length] ?? '';
        if (SILENCING.has(key) && round % 4 > 0) return [];
        return [[key, possible(key, value)]];
      }),
    ),
  );
}

/** Keys a few at a time, by chance, with what users write or should not write. */
export function fewKeys(count: number, seed: number): Data[] {
  const one = fc
    .tuple(fc.constantFrom(...declared), fc.constantFrom(...HOSTILE_VALUES), fc.boolean())
    .map(([[key, { example }], value, usual]) => [key, possible(key, usual ? example : value)] as const);
  return fc
    .sample(fc.array(one, { minLength: 3, maxLength: 3 }), { numRuns: count, seed })
    .map((pairs) => Object.fromEntries(pairs));
}

const EVIL_NAMES = [
  'X Y',
  ':path',
  'Host',
  'x_y',
  '',
  'X'.repeat(300),
  'x-envoy-retry-on',
  'Transfer-Encoding',
  'a\r\nb',
  'ä',
  '"',
  'Date',
  'x-a',
  'X-A',
  'X-a',
  'Set-Cookie',
];

/** Headers for `add-headers` and `proxy-set-headers`, more and longer ones than anybody needs. */
export const HOSTILE_HEADERS: readonly Data[] = [
  Object.fromEntries([...HOSTILE_VALUES.entries()].map(([index, value]) => [`X-H-${index}`, value])),
  Object.fromEntries(EVIL_NAMES.map((name) => [name, 'x'])),
  Object.fromEntries(EVIL_NAMES.map((name) => [name, '$host'])),
  Object.fromEntries(EVIL_NAMES.map((name) => [name, ''])),
  Object.fromEntries(many(1_200, (index) => [`X-H-${index}`, 'x'] as const)),
  Object.fromEntries(many(1_200, (index) => [`X-H-${index}`, '$host'] as const)),
  {
    'X-Long': 'x'.repeat(16_000),
    'X-Longer': 'x'.repeat(16_385),
    'X-Percent': '%'.repeat(9_000),
    'X-Host': '$host'.repeat(1_000),
  },
  { 'X-Dollars': '$ '.repeat(2_000), 'X-Quotes': '"\\'.repeat(1_900), 'X-Longest': '$http_x'.repeat(50_000) },
];
