import { observe, startServices } from '../envoy/behaviour/cases.ts';
import type { Exchange, Ports } from '../parity/table.ts';
import { poll } from '../support/gateway.ts';
import { configMap, ingress } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

const DOMAIN = 'logs.example.com';

function host(name: string, annotations: Readonly<Record<string, string>>) {
  return ingress({ name, annotations: annotated(annotations), rules: [{ host: `${name}.${DOMAIN}`, paths: [{}] }] });
}

/** Hosts, and the ConfigMap with this data. */
function logs(title: string, data: Readonly<Record<string, string>>, keys: AnnotationTable['keys']): AnnotationTable {
  return {
    title: `logs: ${title}`,
    start: async () => {
      const services = await startServices('web');
      return {
        close: services.close,
        accessLog: true,
        build: { configMap: 'default/config' },
        manifests: [
          ...services.manifests,
          configMap('config', data),
          host('plain', {}),
          host('off', { 'enable-access-log': 'false' }),
          host('bad', { 'enable-access-log': 'no' }),
          host('rewrites', { 'enable-rewrite-log': 'true' }),
          host('bad-rewrites', { 'enable-rewrite-log': 'on' }),
          ingress({
            name: 'elsewhere',
            annotations: annotated({ 'rewrite-target': '/static/$1', 'upstream-vhost': 'inside.example.com' }),
            rules: [{ host: `elsewhere.${DOMAIN}`, paths: [{ path: '/(.*)', pathType: 'ImplementationSpecific' }] }],
          }),
        ],
      };
    },
    keys,
  };
}

interface Request {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
}

let count = 0;

/** Sends the request, and says what is written of it: the line without what differs each time; nothing where there is none. */
async function lineOf(ports: Ports, request: Request): Promise<string | undefined> {
  count += 1;
  const [id, next] = [`id-${count}-a`, `id-${count}-b`];
  await observe(ports, { ...request, headers: { ...request.headers, 'x-request-id': id } });
  // Lines come in their order, so that one is not there when the next is.
  await observe(ports, { url: `http://plain.${DOMAIN}/`, headers: { 'x-request-id': next } });
  const lines = () => ports.accessLog?.().split('\n') ?? [];
  await poll(
    () => lines().some((line) => line.includes(next)),
    () => `no line of ${next} in:\n${lines().join('\n')}`,
  );
  return lines()
    .find((line) => line.includes(id))
    ?.replace(id, 'ID');
}

function written(title: string, request: Request, expected: string | undefined): Exchange {
  return { title, run: (ports) => lineOf(ports, request), expected };
}

const isWritten = (title: string, request: Request, expected: boolean): Exchange => ({
  title,
  run: async (ports) => (await lineOf(ports, request)) !== undefined,
  expected,
});

const JSON_FORMAT = JSON.stringify({
  id: '$req_id',
  addr: '$remote_addr',
  user: '$remote_user',
  host: '$host',
  uri: '$uri',
  args: '$args',
  request: '$request_method $request_uri',
  agent: '$http_user_agent',
  forwarded: '$http_x_forwarded_for',
  none: '$http_x_nothing',
  cookie: '$cookie_session',
  arg: '$arg_a',
  ingress: '$namespace/$ingress_name/$service_name/$service_port',
  upstream: '$proxy_upstream_name',
  status: '$status',
  type: '$sent_http_content_type',
  proto: '$server_protocol $scheme',
  percent: '100%',
  tls: '$https $ssl_client_verify $ssl_client_s_dn$geoip2_city_country_code$upstream_cache_status',
  connect: '$upstream_connect_time',
  way: '$proxy_add_x_forwarded_for $realip_remote_addr $pass_access_scheme $pipe',
});

/** Longer than what an expression of Envoy's log may hold. */
const LONG_LIST =
  'assets|images|fonts|scripts|styles|downloads|documents|favicons|manifests|service-workers|well-known-things';

async function fieldsOf(ports: Ports, request: Request): Promise<Readonly<Record<string, unknown>>> {
  const line = await lineOf(ports, request);
  const start = line?.indexOf('{') ?? -1;
  return JSON.parse(line?.slice(start) ?? '{}') as Record<string, unknown>;
}

const ofJson = (title: string, request: Request, expected: Readonly<Record<string, string>>): Exchange => ({
  title,
  run: async (ports) => {
    const fields = await fieldsOf(ports, request);
    return Object.fromEntries(Object.keys(expected).map((name) => [name, fields[name]]));
  },
  expected,
});

const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

/** What a client sends, and who it is for the log. */
const USERS = [
  ['a user', basic('alice:open:sesame'), 'alice'],
  ['a user, however the scheme is written', basic('bob:').replace('Basic ', 'bASIC  '), 'bob'],
  ['a user with quotes', basic('a"\\b:x'), 'a"\\b'],
  ['no user without a name', basic(':secret'), ''],
  ['no user without a colon', basic('token'), ''],
  ['no user who is not encoded', 'Basic alice:secret', ''],
  ['no user with another scheme', `Bearer ${Buffer.from('alice:x').toString('base64')}`, ''],
] as const;

const served = [{ url: `http://plain.${DOMAIN}/`, backend: 'web' }];

export const logTables: readonly AnnotationTable[] = [
  logs(
    'lines',
    {
      'log-format-upstream': '$req_id|$remote_addr|$request|$status|$http_user_agent|$http_x_nothing|100%|$is_args',
      'log-format-stream': '$remote_addr $protocol $status $session_time',
    },
    {
      'enable-access-log': {
        good: [isWritten('not where it is off', { url: `http://off.${DOMAIN}/` }, false)],
        bad: [isWritten('the default holds', { url: `http://bad.${DOMAIN}/` }, true)],
        default: [isWritten('everything', { url: `http://plain.${DOMAIN}/` }, true)],
        neighbours: [isWritten('what nobody takes', { url: 'http://nobody.example.org/' }, true)],
      },
      'rewrite-target': {
        good: [
          written(
            'what the client sent',
            { url: `http://elsewhere.${DOMAIN}/a?b` },
            'ID|127.0.0.1|GET /a?b HTTP/1.1|200|-|-|100%|?',
          ),
        ],
        default: [],
      },
      'enable-rewrite-log': {
        good: [{ url: `http://rewrites.${DOMAIN}/`, backend: 'web' }],
        bad: [{ url: `http://bad-rewrites.${DOMAIN}/`, backend: 'web' }],
        default: served,
      },
      'ConfigMap log-format-upstream': {
        good: [
          written(
            'with variables',
            { url: `http://plain.${DOMAIN}/a?b`, headers: { 'user-agent': 'x"y' } },
            'ID|127.0.0.1|GET /a?b HTTP/1.1|200|x\\x22y|-|100%|?',
          ),
        ],
        default: [],
      },
      'ConfigMap log-format-escape-json': {
        good: [],
        default: [written('not JSON', { url: `http://plain.${DOMAIN}/` }, 'ID|127.0.0.1|GET / HTTP/1.1|200|-|-|100%|')],
      },
      'ConfigMap log-format-escape-none': { good: [], default: served },
      // What is written about streams is shown by `streamLogCases`: a port of a stream can be bound by one proxy alone.
      'ConfigMap log-format-stream': { good: served, default: [] },
      'ConfigMap disable-access-log': {
        good: [],
        default: [isWritten('lines', { url: `http://plain.${DOMAIN}/` }, true)],
      },
      'ConfigMap disable-http-access-log': { good: [], default: served },
      'ConfigMap skip-access-log-urls': {
        good: [],
        default: [isWritten('health checks too', { url: `http://plain.${DOMAIN}/health` }, true)],
      },
    },
  ),
  logs(
    'JSON',
    {
      'log-format-upstream': JSON_FORMAT,
      'log-format-escape-json': 'true',
      'skip-access-log-urls': `/health,~^/static/,~*\\.png$,/a.b,/HEALTH,~^/(?:${LONG_LIST})/.*$`,
    },
    {
      'ConfigMap log-format-escape-json': {
        good: [
          ofJson(
            'every value can be read again',
            {
              url: `http://plain.${DOMAIN}/x?a=1`,
              headers: { 'user-agent': 'a"b\\c\td%', 'x-forwarded-for': '192.0.2.1', cookie: 'a=b; session=s1' },
            },
            {
              id: 'ID',
              addr: '127.0.0.1',
              user: '',
              host: `plain.${DOMAIN}`,
              uri: '/x',
              args: 'a=1',
              request: 'GET /x?a=1',
              agent: 'a"b\\c\td%',
              forwarded: '192.0.2.1',
              none: '',
              cookie: 's1',
              arg: '1',
              ingress: 'default/plain/web/80',
              upstream: 'default-web-80',
              status: '200',
              type: 'application/json',
              proto: 'HTTP/1.1 http',
              percent: '100%',
            },
          ),
          ofJson(
            'what the client sent, whatever a backend gets',
            { url: `http://ELSEWHERE.${DOMAIN}/a?b` },
            { host: `elsewhere.${DOMAIN}`, request: 'GET /a?b', uri: '/static/a', args: 'b' },
          ),
          ofJson(
            'names of parameters and cookies in any case',
            { url: `http://plain.${DOMAIN}/?ba=2&A=1`, headers: { cookie: 'SESSION=s2' } },
            { arg: '1', cookie: 's2' },
          ),
          ofJson(
            'what the proxy answers by itself',
            { url: `http://nobody.${DOMAIN}/`, headers: { 'x-forwarded-for': '192.0.2.1', 'x-real-ip': '192.0.2.9' } },
            { tls: '  ', connect: '', way: '192.0.2.1, 127.0.0.1 127.0.0.1 http .' },
          ),
          ofJson(
            'over TLS, whatever a request says',
            { url: `https://plain.${DOMAIN}/`, headers: { 'x-forwarded-proto': 'http' } },
            { tls: 'on NONE ', way: '127.0.0.1 127.0.0.1 https .', proto: 'HTTP/1.1 https' },
          ),
          {
            title: 'how long it took to connect',
            run: async (ports) => {
              const { connect } = await fieldsOf(ports, { url: `http://plain.${DOMAIN}/` });
              return /^\d\.\d{3}$/.test(String(connect));
            },
            expected: true,
          },
          ...USERS.map(([title, sent, user]) =>
            ofJson(title, { url: `http://plain.${DOMAIN}/`, headers: { authorization: sent } }, { user }),
          ),
          ofJson('what is missing is empty', { url: `http://plain.${DOMAIN}/` }, { args: '', cookie: '', arg: '' }),
        ],
        default: [],
      },
      'ConfigMap skip-access-log-urls': {
        good: [
          isWritten('a path', { url: `http://plain.${DOMAIN}/health` }, false),
          isWritten('in any case', { url: `http://plain.${DOMAIN}/HEALTH` }, false),
          isWritten('not those below', { url: `http://plain.${DOMAIN}/health/x` }, true),
          isWritten('an expression', { url: `http://plain.${DOMAIN}/static/x` }, false),
          isWritten('in any case', { url: `http://plain.${DOMAIN}/a.PNG` }, false),
          isWritten('a long expression', { url: `http://plain.${DOMAIN}/service-workers/x?y` }, false),
          isWritten('a dot is a dot', { url: `http://plain.${DOMAIN}/acb` }, true),
          isWritten('others', { url: `http://plain.${DOMAIN}/` }, true),
          isWritten('off in any case', { url: `http://off.${DOMAIN}/` }, false),
          isWritten('by the path as it came', { url: `http://elsewhere.${DOMAIN}/health` }, false),
          isWritten('not by that of a backend', { url: `http://elsewhere.${DOMAIN}/a` }, true),
        ],
        default: [],
      },
    },
  ),
  logs(
    'numbers in JSON',
    {
      'log-format-upstream': '{"id":"$req_id","n":$connection_requests,"city":$geoip2_city,"cost":"5$literal_dollar"}',
      'log-format-escape-json': 'true',
    },
    {
      'ConfigMap log-format-escape-json': {
        good: [
          {
            title: 'what cannot be said is null',
            run: async (ports) => {
              const { n, ...others } = await fieldsOf(ports, { url: `http://plain.${DOMAIN}/` });
              return { ...others, isNumberOrNull: n === null || Number(n) > 0 };
            },
            expected: { id: 'ID', city: null, cost: '5$', isNumberOrNull: true },
          },
        ],
        default: [],
      },
    },
  ),
  logs(
    'a dollar sign that names nothing',
    { 'log-format-upstream': '$req_id "5$$"' },
    {
      'ConfigMap log-format-upstream': {
        good: [],
        bad: [
          {
            title: 'the default holds',
            run: async (ports) =>
              (await lineOf(ports, { url: `http://plain.${DOMAIN}/` }))?.includes('"GET / HTTP/1.1" 200'),
            expected: true,
          },
        ],
        default: [],
      },
    },
  ),
  logs(
    'what nginx has',
    { 'log-format-upstream': '$req_id|$proxy_protocol_addr|$otel_span_id|$geoip_org|$server_port$sent_trailer_x|' },
    {
      'ConfigMap log-format-upstream': {
        good: [
          {
            title: 'is written as missing where it is not known, and the rest as it is',
            run: async (ports) =>
              (await lineOf(ports, { url: `http://plain.${DOMAIN}/` }))?.replace(`|${ports.httpPort}-`, '|PORT-'),
            expected: 'ID|-|-|-|PORT-|',
          },
        ],
        default: [],
      },
    },
  ),
  logs(
    'unescaped',
    { 'log-format-upstream': '$req_id|$http_user_agent|$http_x_nothing|', 'log-format-escape-none': 'true' },
    {
      'ConfigMap log-format-escape-none': {
        good: [
          written('as it came', { url: `http://plain.${DOMAIN}/`, headers: { 'user-agent': 'x"\\y' } }, 'ID|x"\\y||'),
        ],
        default: [],
      },
    },
  ),
  logs(
    'where a load balancer is believed',
    { 'log-format-upstream': '$req_id|$host|$http_host|$best_http_host|', 'use-forwarded-headers': 'true' },
    {
      'ConfigMap log-format-upstream': {
        good: [
          written(
            'the host that was asked for, and the one that counts',
            { url: `http://plain.${DOMAIN}/`, headers: { 'x-forwarded-host': ' asked.example.com:80, b.example.com' } },
            `ID|plain.${DOMAIN}|plain.${DOMAIN}|asked.example.com:80|`,
          ),
          written(
            'without a word of it',
            { url: `http://plain.${DOMAIN}/` },
            `ID|plain.${DOMAIN}|plain.${DOMAIN}|plain.${DOMAIN}|`,
          ),
        ],
        default: [],
      },
    },
  ),
  logs(
    'broken',
    {
      'log-format-upstream': '$req_id $no_such_variable',
      'log-format-stream': '$remote_addr $http_host',
      'log-format-escape-json': 'yes',
      'log-format-escape-none': 'no',
      'disable-access-log': 'maybe',
      'disable-http-access-log': 'maybe',
      'disable-stream-access-log': 'maybe',
      'skip-access-log-urls': '~(',
      'error-log-level': 'loud',
      'enable-access-log-for-default-backend': 'maybe',
    },
    {
      'ConfigMap log-format-upstream': {
        good: [],
        bad: [isWritten('the default holds', { url: `http://plain.${DOMAIN}/` }, true)],
        default: [],
      },
      'ConfigMap log-format-stream': { good: [], bad: served, default: [] },
      'ConfigMap log-format-escape-json': { good: [], bad: served, default: [] },
      'ConfigMap log-format-escape-none': { good: [], bad: served, default: [] },
      'ConfigMap disable-access-log': { good: [], bad: served, default: [] },
      'ConfigMap disable-http-access-log': { good: [], bad: served, default: [] },
      'ConfigMap disable-stream-access-log': { good: [], bad: served, default: [] },
      'ConfigMap skip-access-log-urls': {
        good: [],
        bad: [isWritten('nothing is skipped', { url: `http://plain.${DOMAIN}/(` }, true)],
        default: [],
      },
      'ConfigMap error-log-level': { good: [], bad: served, default: [] },
      'ConfigMap enable-access-log-for-default-backend': { good: [], bad: served, default: [] },
    },
  ),
  ...['disable-access-log', 'disable-http-access-log'].map((key) =>
    logs(
      key,
      { [key]: 'true' },
      {
        [`ConfigMap ${key}`]: {
          good: [
            {
              title: 'nothing is written',
              run: async (ports) => {
                await observe(ports, { url: `http://plain.${DOMAIN}/`, headers: { 'x-request-id': 'unseen' } });
                return readLog(ports).includes('unseen');
              },
              expected: false,
            },
          ],
          default: [],
        },
      },
    ),
  ),
  logs(
    'keys without meaning here',
    {
      'access-log-path': '/nowhere/access.log',
      'http-access-log-path': '/nowhere/http.log',
      'stream-access-log-path': '/nowhere/stream.log',
      'access-log-params': 'buffer=4k',
      'disable-stream-access-log': 'true',
      'enable-access-log-for-default-backend': 'true',
      'error-log-path': '/nowhere/error.log',
      'error-log-level': 'warn',
    },
    {
      'ConfigMap log-format-stream': { good: [], default: served },
      'ConfigMap log-format-upstream': {
        good: [],
        default: [isWritten('the line of ingress-nginx', { url: `http://plain.${DOMAIN}/` }, true)],
      },
      ...Object.fromEntries(
        [
          'access-log-path',
          'http-access-log-path',
          'stream-access-log-path',
          'access-log-params',
          'disable-stream-access-log',
          'enable-access-log-for-default-backend',
          'error-log-path',
          'error-log-level',
        ].map((key) => [
          `ConfigMap ${key}`,
          {
            good: [isWritten('one line for each request', { url: `http://plain.${DOMAIN}/` }, true)],
            default: [{ url: `http://off.${DOMAIN}/`, backend: 'web' }],
          },
        ]),
      ),
    },
  ),
];

/** Empty where the file was never made. */
function readLog(ports: Ports): string {
  try {
    return ports.accessLog?.() ?? '';
  } catch {
    return '';
  }
}
