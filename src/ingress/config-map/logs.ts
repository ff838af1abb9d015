/** What is written about requests. */
import {
  DEFAULT_LOG_FORMAT,
  DEFAULT_LOG_TEXT,
  type LogFormat,
  namesDecodedPath,
  unsaidVariables,
} from '../../model/log-format.ts';
import { DEFAULT_STREAM_LOG_FORMAT, DEFAULT_STREAM_LOG_TEXT } from '../../model/stream-log-format.ts';
import { anyText, boolean, choice, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { logFormat, streamLogFormat } from '../declaration/log-format.ts';
import { approximated, HONOURED, refused } from '../declaration/support.ts';
import { textPatterns } from '../declaration/text-patterns.ts';

const both = { envoy: HONOURED, nginx: HONOURED } as const;
const toStdout = approximated('Lines go to the standard output of the proxy, whatever the path.');
const path = { codec: anyText, envoy: toStdout, nginx: toStdout };
const unbuffered = approximated('Lines are written as the proxy does it by itself.');
const noSyslog = refused('lines go to the standard output of the proxy, from where the node collects them');
const syslog = { envoy: noSyslog, nginx: noSyslog };

/** Whether it says something of each try. */
function namesTries(format: LogFormat): boolean {
  return format.some((part) => typeof part !== 'string' && part.variable.startsWith('upstream_'));
}

export const logKeys = configMapKeys({
  'disable-access-log': {
    ...both,
    codec: boolean,
    default: false,
    summary: 'Whether nothing is written about requests, nor about connections of TCP and UDP services.',
    example: 'true',
  },
  'disable-http-access-log': {
    ...both,
    codec: boolean,
    default: false,
    summary: 'Whether nothing is written about requests.',
    example: 'true',
  },
  'disable-stream-access-log': {
    ...both,
    codec: boolean,
    default: false,
    summary: 'Whether nothing is written about connections of TCP and UDP services.',
    example: 'true',
  },
  'access-log-path': {
    ...path,
    default: '/var/log/nginx/access.log',
    summary: 'Where lines go.',
    example: '/dev/stdout',
  },
  'http-access-log-path': { ...path, default: '', summary: 'Where lines about requests go.', example: '/dev/stdout' },
  'stream-access-log-path': {
    ...path,
    default: '',
    summary: 'Where lines about connections of TCP and UDP services go.',
    example: '/dev/stdout',
  },
  'access-log-params': {
    codec: anyText,
    default: '',
    summary: 'Parameters of the log, such as its buffer.',
    example: 'buffer=16k,gzip,flush=1m',
    envoy: unbuffered,
    nginx: unbuffered,
  },
  'log-format-upstream': {
    codec: logFormat,
    default: DEFAULT_LOG_FORMAT,
    shownDefault: DEFAULT_LOG_TEXT,
    summary:
      'What is written about a request: text with variables of nginx. With a variable that nginx does not know, or a `$` without a name, the default stays.',
    example: '$remote_addr "$request" $status $request_time $req_id',
    envoy: approximated(
      'Variables that Envoy cannot say, such as `$connection_requests`, are written as missing; of several tries the last one is written; `$uri` and `$document_uri` stay percent-encoded, where nginx decodes them.',
      (format: LogFormat) =>
        unsaidVariables(format, 'envoy').length > 0 || namesTries(format) || namesDecodedPath(format),
    ),
    nginx: approximated(
      'Variables of modules that are not there, such as `$geoip2_…`, are written as missing.',
      (format: LogFormat) => unsaidVariables(format, 'nginx').length > 0,
    ),
  },
  'log-format-escape-json': {
    ...both,
    codec: boolean,
    default: false,
    summary:
      'Whether values are escaped as JSON wants it. What is missing is written as nothing, or in a format that is JSON as `null` where it stands outside of double quotes ([log-variables.md](log-variables.md#what-is-missing)).',
    example: 'true',
  },
  'log-format-escape-none': {
    ...both,
    codec: boolean,
    default: false,
    summary: 'Whether values are written as they are; what is missing is written as nothing.',
    example: 'true',
  },
  'log-format-stream': {
    codec: streamLogFormat,
    default: DEFAULT_STREAM_LOG_FORMAT,
    shownDefault: DEFAULT_STREAM_LOG_TEXT,
    summary:
      'What is written about a connection of a TCP service, or a session of a UDP service: text with variables of nginx. With a variable that nginx does not know, or a `$` without a name, the default stays.',
    example: '$remote_addr $protocol $status $session_time $upstream_addr',
    envoy: approximated(
      'Envoy knows nothing of `$upstream_first_byte_time` and `$upstream_session_time`, nor of the `$session_time` and the `$upstream_connect_time` of UDP, which are written as missing; of several tries the last one is written.',
    ),
    nginx: HONOURED,
  },
  'enable-access-log-for-default-backend': {
    codec: boolean,
    default: false,
    summary: 'Whether what the default backend answers is logged once more.',
    example: 'true',
    envoy: approximated('Every request has one line, whoever answers it.'),
    nginx: approximated('Every request has one line, whoever answers it.'),
  },
  'enable-auth-access-log': {
    codec: boolean,
    default: false,
    summary: 'Whether requests to the service of `auth-url` are logged.',
    example: 'true',
    envoy: refused('what the proxy asks that service is in no log; its own log says it'),
    nginx: refused('what the proxy asks that service is in no log; its own log says it'),
  },
  'skip-access-log-urls': {
    ...both,
    codec: textPatterns,
    default: [],
    shownDefault: '',
    summary: 'Paths, with their queries, that are not logged.',
    example: '/health,~^/static/',
  },
  'error-log-path': {
    codec: anyText,
    default: '/var/log/nginx/error.log',
    summary: 'Where the proxy says what happens to itself.',
    example: '/dev/stderr',
    envoy: approximated('Envoy says it on its standard error.'),
    nginx: approximated('nginx says it on its standard error.'),
  },
  'error-log-level': {
    codec: choice('debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'),
    default: 'notice',
    summary: 'How much nginx says of what happens to itself.',
    example: 'warn',
    envoy: approximated('How much Envoy says of itself is for its own command line.'),
    nginx: HONOURED,
  },
  'enable-syslog': {
    ...syslog,
    codec: boolean,
    default: false,
    summary: 'Whether lines go to a syslog server.',
    example: 'true',
  },
  'syslog-host': {
    ...syslog,
    codec: anyText,
    default: '',
    summary: 'The syslog server.',
    example: 'syslog.example.com',
  },
  'syslog-port': { ...syslog, codec: integer({ max: 65_535 }), default: 514, summary: 'Its port.', example: '514' },
  'debug-connections': {
    codec: anyText,
    default: '',
    summary: 'Addresses of clients about whose connections nginx says everything.',
    example: '192.0.2.1',
    envoy: refused('Envoy has no such list; `POST /logging?level=debug` of its admin interface says everything'),
    nginx: refused('it needs an nginx that is built for debugging'),
  },
});
