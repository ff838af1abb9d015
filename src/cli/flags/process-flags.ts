import type { Flags } from './flag.ts';

/** Health, inspection and log of a control plane. */
export const controlPlaneFlags = {
  'healthz-host': {
    type: 'string',
    describe: 'Address for health checks and metrics; without it every address',
  },
  'healthz-port': {
    type: 'number',
    default: 10254,
    describe: 'Port for /healthz, /readyz and /metrics; 0 takes a free one',
  },
  'health-check-path': {
    type: 'string',
    default: '/healthz',
    describe: 'Path of the health check on --healthz-port',
  },
  'health-check-timeout': {
    type: 'number',
    default: 10,
    describe: 'Seconds that a client of --healthz-port may take for its request',
  },
  'debug-socket': {
    type: 'string',
    describe: 'Unix socket for ingress-xds inspect; without it run makes one in its private folder, and serve none',
  },
  'log-format': { choices: ['text', 'json'] as const, default: 'text', describe: 'Form of the log' },
  v: {
    type: 'number',
    alias: 'verbosity',
    default: 2,
    describe: 'Log level as a number: 0 errors, 1 warnings, 2 information, 3 and more debugging',
  },
} as const satisfies Flags;

/** The proxy of `run`, and its end. */
export const envoyFlags = {
  'envoy-path': {
    type: 'string',
    describe: 'Envoy to run; without it $ENVOY_PATH, PATH, or one that is fetched and kept in the cache folder',
  },
  'envoy-concurrency': {
    type: 'number',
    describe: 'Worker threads of Envoy; without it one per CPU',
  },
  'shutdown-grace-period': {
    type: 'number',
    describe: 'Seconds to keep accepting connections after SIGTERM, before the drain',
    default: 0,
  },
  'drain-timeout': {
    type: 'number',
    describe: 'Seconds to wait for open connections when ending; without it 240, or 5 on a terminal',
  },
  'post-shutdown-grace-period': {
    type: 'number',
    describe:
      'Seconds to wait when everything has ended, so that a preStop hook ends before this process; without it 10, or 0 on a terminal and with --manifests',
  },
} as const satisfies Flags;
