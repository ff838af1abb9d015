/** Connections to backends. */
import { integer, seconds } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { duration } from '../declaration/duration.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const upstreamKeys = configMapKeys({
  'proxy-connect-timeout': {
    codec: integer({ min: 1, of: 'seconds' }),
    default: 5,
    summary: 'How long a backend may take to accept a connection, in seconds.',
    example: '10',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'proxy-read-timeout': {
    codec: seconds,
    default: 60,
    summary: 'How long a backend may be silent, in seconds.',
    example: '300',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'proxy-send-timeout': {
    codec: seconds,
    default: 60,
    summary: 'How long a backend may take nothing of a request, in seconds.',
    example: '300',
    envoy: approximated('Nothing may move in either direction for the longer of this and `proxy-read-timeout`.'),
    nginx: HONOURED,
  },
  'upstream-keepalive-connections': {
    codec: integer({ of: 'connections' }),
    default: 320,
    summary: 'How many connections to backends are kept while they rest; 0 for one request a connection.',
    example: '100',
    envoy: approximated('Every connection is kept until one of the other limits ends it, unless this is 0.'),
    nginx: approximated('For each Service; with the Lua module for all together.'),
  },
  'upstream-keepalive-time': {
    codec: duration,
    default: 3600,
    shownDefault: '1h',
    summary: 'How old a kept connection to a backend may become.',
    example: '10m',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'upstream-keepalive-timeout': {
    codec: integer({ min: 1, max: 2_000_000, of: 'seconds' }),
    default: 60,
    summary:
      'How long a kept connection to a backend may rest, in seconds. Less than what backends allow, or requests meet connections that end.',
    example: '4',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'upstream-keepalive-requests': {
    codec: integer({ min: 1, of: 'requests' }),
    default: 10_000,
    summary: 'How many requests a kept connection to a backend takes.',
    example: '1000',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'grpc-buffer-size-kb': {
    codec: integer({ max: 8192, of: 'kilobytes' }),
    default: 0,
    summary: 'How large the headers of an answer of a gRPC backend may be, in kilobytes; 0 for one page of memory.',
    example: '64',
    envoy: approximated('Headers of up to 60 KiB are passed on in any case, by this of more.'),
    nginx: HONOURED,
  },
});
