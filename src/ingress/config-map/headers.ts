/** Headers of requests and answers. */
import { boolean, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { answerHeaderNames, headerNames } from '../declaration/headers.ts';
import { qualifiedName } from '../declaration/references.ts';
import { approximated, HONOURED, whenOn } from '../declaration/support.ts';

const honoured = { envoy: HONOURED, nginx: HONOURED } as const;
const named = { ...honoured, codec: qualifiedName, default: '', refersTo: 'ConfigMap' } as const;

export const headerKeys = configMapKeys({
  'add-headers': {
    ...named,
    summary:
      'A ConfigMap with headers for every answer, in place of what a backend says. Values may hold variables of nginx; an empty one takes a header away.',
    example: 'ingress-nginx/answer-headers',
  },
  'allow-backend-server-header': {
    ...honoured,
    codec: boolean,
    default: false,
    summary: 'Whether clients see the `Server` header of a backend. Only with `server-tokens`.',
    example: 'true',
  },
  'global-allowed-response-headers': {
    ...honoured,
    codec: headerNames,
    default: [],
    shownDefault: '',
    summary: 'The headers that `custom-headers` may set, in the case in which they are written there.',
    example: 'X-Frame-Options,Content-Security-Policy',
  },
  'hide-headers': {
    ...honoured,
    codec: answerHeaderNames,
    default: [],
    shownDefault: '',
    summary: 'Headers of backends that clients do not see.',
    example: 'X-Powered-By,X-AspNet-Version',
  },
  hsts: {
    ...honoured,
    codec: boolean,
    default: true,
    summary: 'Whether every answer over TLS carries `Strict-Transport-Security`; else that of a backend stays.',
    example: 'false',
  },
  'hsts-include-subdomains': {
    ...honoured,
    codec: boolean,
    default: true,
    summary: 'Whether `Strict-Transport-Security` says `includeSubDomains`.',
    example: 'false',
  },
  'hsts-max-age': {
    ...honoured,
    codec: integer({ of: 'seconds' }),
    default: 31_536_000,
    summary: '`max-age` of `Strict-Transport-Security`: for how many seconds browsers keep to https.',
    example: '15724800',
  },
  'hsts-preload': {
    ...honoured,
    codec: boolean,
    default: false,
    summary: 'Whether `Strict-Transport-Security` says `preload`.',
    example: 'true',
  },
  'proxy-add-original-uri-header': {
    ...honoured,
    codec: boolean,
    default: false,
    summary: 'Whether backends get the path and query as the client wrote them in `X-Original-URI`.',
    example: 'true',
  },
  'proxy-set-headers': {
    ...named,
    summary:
      'A ConfigMap with headers that every backend gets, in place of what a client says. Values may hold variables of nginx; an empty one takes a header away.',
    example: 'ingress-nginx/backend-headers',
  },
  'server-tokens': {
    codec: boolean,
    default: false,
    summary: 'Whether answers carry a `Server` header.',
    example: 'true',
    envoy: approximated(
      'The header is `nginx`, without a version; answers to requests without a host have none.',
      whenOn,
    ),
    nginx: HONOURED,
  },
});
