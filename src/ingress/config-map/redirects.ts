/** Redirects that the proxy answers by itself. */
import { boolean } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { HONOURED } from '../declaration/support.ts';

export const redirectKeys = configMapKeys({
  'ssl-redirect': {
    codec: boolean,
    default: true,
    summary: 'Whether requests over plain HTTP are redirected to https where a host has TLS.',
    example: 'false',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'force-ssl-redirect': {
    codec: boolean,
    default: false,
    summary: 'Whether requests over plain HTTP are redirected to https also where a host has no TLS.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
});
