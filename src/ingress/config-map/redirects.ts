/** Redirects that the proxy answers by itself. */
import type { RedirectStatus } from '../../model/proxy-model.ts';
import { type Codec, codec } from '../declaration/codec.ts';
import { boolean, textList } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { HONOURED } from '../declaration/support.ts';

const redirectStatus: Codec<RedirectStatus> = codec('301, 302, 307 or 308', (text) =>
  ([301, 302, 307, 308] as const).find((status) => String(status) === text),
);

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
  'http-redirect-code': {
    codec: redirectStatus,
    default: 308,
    summary: 'The status of redirects to https, and of those between a host and its `www`.',
    example: '301',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'no-tls-redirect-locations': {
    codec: textList,
    default: ['/.well-known/acme-challenge'],
    shownDefault: '/.well-known/acme-challenge',
    summary: 'Paths of Ingresses that begin with one of these are never redirected to https.',
    example: '/.well-known/acme-challenge,/health',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'preserve-trailing-slash': {
    codec: boolean,
    default: false,
    summary: 'Whether redirects to https keep a slash at the very end of path and query.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'use-port-in-redirects': {
    codec: boolean,
    default: false,
    summary: 'Whether redirects to https, and those to a path of the same host, name the port of the proxy.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'relative-redirects': {
    codec: boolean,
    default: false,
    summary: 'Whether `permanent-redirect` to a path is answered with the path alone, without scheme and host.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
});
