import { annotationFeature } from '../declaration/annotation.ts';
import { integer, seconds } from '../declaration/codecs.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const timeouts = annotationFeature({
  title: 'Time-outs of backends',
  keys: {
    'proxy-connect-timeout': {
      codec: integer({ min: 1, of: 'seconds' }),
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'proxy-connect-timeout',
      summary: 'How long a backend may take to accept a connection, in seconds.',
      example: '10',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'proxy-read-timeout': {
      codec: seconds,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'proxy-read-timeout',
      summary: 'How long a backend may be silent, in seconds.',
      example: '300',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'proxy-send-timeout': {
      codec: seconds,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'proxy-send-timeout',
      summary: 'How long a backend may take nothing of a request, in seconds.',
      example: '300',
      envoy: approximated('Nothing may move in either direction for the longer of this and `proxy-read-timeout`.'),
      nginx: HONOURED,
    },
  },
  apply(values, { global }) {
    const read = values['proxy-read-timeout'] ?? global['proxy-read-timeout'];
    const send = values['proxy-send-timeout'] ?? global['proxy-send-timeout'];
    const connect = values['proxy-connect-timeout'];
    const body = global['client-body-timeout'];
    const isDefault = read === DEFAULT_SECONDS && send === DEFAULT_SECONDS;
    // By default it bounds nothing: connections of another protocol would otherwise rest longer than they are to.
    const bodySeconds = body > Math.max(read, send, DEFAULT_SECONDS) ? { bodySeconds: body } : {};
    return {
      ...(!isDefault && { route: { timeouts: { readSeconds: read, sendSeconds: send, ...bodySeconds } } }),
      ...(connect !== undefined && { cluster: { connectTimeoutSeconds: connect } }),
    };
  },
});

/** Without the policy emitters have the same. */
const DEFAULT_SECONDS = 60;
