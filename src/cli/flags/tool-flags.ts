import { xdsTlsClientFlags, xdsTlsFlags } from '../xds-tls.ts';
import type { Flags } from './flag.ts';

/** The xDS server of `serve`. */
export const serveFlags = {
  'xds-address': {
    type: 'string',
    array: true,
    default: ['127.0.0.1:18000'],
    describe:
      'Where Envoys connect to: unix:PATH, or HOST:PORT, which off loopback needs --xds-certificate; may be repeated',
  },
  'xds-insecure': {
    type: 'boolean',
    default: false,
    describe: 'Send private keys also over TCP, where every process of this machine can read them',
  },
  ...xdsTlsFlags,
} as const satisfies Flags;

const outputFlag = { choices: ['yaml', 'json'] as const, default: 'yaml', describe: 'Form of the output' } as const;

export const translateFlags = {
  proxy: { choices: ['envoy', 'nginx'] as const, default: 'envoy', describe: 'For whom to translate' },
  output: { ...outputFlag, describe: 'Form of the output; for nginx json is what its template sees' },
  'nginx-template': { type: 'string', describe: 'Template of nginx.conf; default: the built-in one' },
} as const satisfies Flags;

export const checkFlags = {
  proxy: { choices: ['envoy', 'nginx'] as const, default: 'envoy', describe: 'Which proxy is to serve them' },
  output: {
    choices: ['text', 'json', 'sarif', 'markdown'] as const,
    default: 'text',
    describe: 'Form of the report',
  },
  'fail-on': {
    choices: ['error', 'warning'] as const,
    default: 'error',
    describe: 'From which severity of a finding on the exit code is 1',
  },
} as const satisfies Flags;

export const inspectFlags = {
  'debug-socket': {
    type: 'string',
    describe: 'Unix socket of the control plane; without it that of the one run of this user on this machine',
  },
  output: outputFlag,
} as const satisfies Flags;

export const bootstrapFlags = {
  role: {
    choices: ['gateway', 'sidecar'] as const,
    default: 'gateway',
    describe: 'gateway: one of many proxies; sidecar: the proxy beside a control plane, in the same pod',
  },
  'xds-address': {
    type: 'string',
    describe:
      'Where the control plane listens: unix:PATH or HOST:PORT; without it 127.0.0.1:18000, of a sidecar unix:/run/ingress-xds/xds.sock',
  },
  'node-id': {
    type: 'string',
    describe: 'Name of the proxy; without it $POD_NAME, or the name of this machine',
  },
  'node-cluster': {
    type: 'string',
    default: 'ingress-xds',
    describe: 'Name of the group that the proxy belongs to',
  },
  'admin-socket': {
    type: 'string',
    default: 'envoy-admin.sock',
    describe: "Unix socket of Envoy's admin interface; a relative path begins where Envoy is started",
  },
  ...xdsTlsClientFlags,
  output: outputFlag,
} as const satisfies Flags;

/** The Envoy that is emptied, and how long that may take. */
export const drainFlags = {
  'admin-socket': {
    type: 'string',
    default: 'envoy-admin.sock',
    describe: "Unix socket of Envoy's admin interface, as bootstrap was told",
  },
  'shutdown-grace-period': {
    type: 'number',
    default: 0,
    describe: 'Seconds to keep accepting connections before the drain, in which load balancers look elsewhere',
  },
  'drain-timeout': { type: 'number', default: 240, describe: 'Seconds to wait for open connections' },
} as const satisfies Flags;

/** Which process `wait-shutdown` ends. */
export const waitShutdownFlags = {
  pid: {
    type: 'number',
    describe: 'Process to end; without it the one control plane of this user whose files are in the temporary folder',
  },
} as const satisfies Flags;

/** What `compare` sends, and what of the answers counts. */
export const compareFlags = {
  requests: {
    type: 'string',
    describe: 'File of requests, one a line: METHOD PATH [Host: NAME], or METHOD URL; # begins a comment',
  },
  'access-log': {
    type: 'string',
    describe:
      'Access log of ingress-nginx or nginx whose requests are sent again, each once; they name no host: give --host',
  },
  host: { type: 'string', describe: 'Host of requests that name none; without it that of each URL' },
  header: { type: 'string', array: true, describe: 'Header to send, NAME: VALUE; may be repeated' },
  'ignore-header': { type: 'string', array: true, describe: 'Header of answers that does not count; may be repeated' },
  'ignore-body': {
    type: 'boolean',
    default: false,
    describe: 'Do not compare bodies, for pages that differ each time',
  },
  'all-methods': {
    type: 'boolean',
    default: false,
    describe: 'Send also what may change something; without it only GET, HEAD and OPTIONS are sent',
  },
  insecure: { type: 'boolean', default: false, describe: 'Accept any certificate' },
  concurrency: { type: 'number', default: 4, describe: 'Requests under way at the same time, 1 to 64' },
  'request-timeout': { type: 'number', default: 10, describe: 'Seconds to wait for a whole answer' },
  'max-requests': { type: 'number', default: 10_000, describe: 'How many requests are sent at most' },
  output: { choices: ['text', 'json'] as const, default: 'text', describe: 'Form of the output' },
} as const satisfies Flags;
