import type { Flags } from './flag.ts';

/** The proxy of `nginx`, and its end. */
export const nginxModeFlags = {
  'nginx-path': {
    type: 'string',
    describe: 'nginx to run; without it the one on PATH',
  },
  'nginx-template': {
    type: 'string',
    describe: 'Template of nginx.conf, followed while nginx runs; without it the built-in one',
  },
  'nginx-worker-processes': {
    type: 'number',
    describe: 'Worker processes of nginx; without it one per CPU',
  },
  'dynamic-configuration-retries': {
    type: 'number',
    default: 15,
    describe: 'How often a change at run time is tried again before it is told',
  },
  'sync-rate-limit': {
    type: 'number',
    default: 0.3,
    describe: 'Reloads per second at most; the first one after a rest is made at once',
  },
  'shutdown-grace-period': {
    type: 'number',
    describe: 'Seconds to keep accepting connections after SIGTERM, before nginx is told to end',
    default: 0,
  },
  'drain-timeout': {
    type: 'number',
    describe: 'Seconds to wait for requests in flight when ending; without it 240, or 5 on a terminal',
  },
  'post-shutdown-grace-period': {
    type: 'number',
    describe:
      'Seconds to wait when everything has ended, so that a preStop hook ends before this process; without it 10, or 0 on a terminal and with --manifests',
  },
} as const satisfies Flags;
