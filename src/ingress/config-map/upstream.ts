/** Connections to backends. */
import { seconds } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const upstreamKeys = configMapKeys({
  'proxy-connect-timeout': {
    codec: seconds,
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
});
