/** External authentication of every Ingress that has none of its own. */
import { anyText, boolean, textList } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;
const text = { ...planned, codec: anyText, default: '' } as const;

/** They mean nothing without `global-auth-url`, which protects. */
export const globalAuthKeys = configMapKeys({
  'global-auth-url': {
    ...text,
    protects: () => true,
    summary: 'The URL that is asked for each request whether it may pass, where an Ingress has no `auth-url`.',
    example: 'https://auth.example.com/verify',
  },
  'global-auth-method': { ...text, default: 'GET', summary: 'The method with which it is asked.', example: 'POST' },
  'global-auth-signin': {
    ...text,
    summary: 'Where clients are sent that are not signed in.',
    example: 'https://auth.example.com/start',
  },
  'global-auth-signin-redirect-param': {
    ...text,
    default: 'rd',
    summary: 'The parameter of `global-auth-signin` that says where clients came from.',
    example: 'return_to',
  },
  'global-auth-response-headers': {
    ...planned,
    codec: textList,
    default: [],
    shownDefault: '',
    summary: 'Headers of its answer that backends get.',
    example: 'X-Auth-Request-User',
  },
  'global-auth-request-redirect': {
    ...text,
    summary: 'What it is told in `X-Auth-Request-Redirect`.',
    example: 'https://shop.example.com/',
  },
  'global-auth-snippet': {
    ...text,
    summary: 'Directives of nginx for the requests to it.',
    example: 'proxy_set_header Foo-Header 42;',
  },
  'global-auth-cache-key': {
    ...text,
    summary: 'Its answers are kept for requests with the same value.',
    example: '$remote_user$http_authorization',
  },
  'global-auth-cache-duration': {
    ...text,
    default: '200 202 401 5m',
    summary: 'How long its answers are kept, by their status.',
    example: '200 202 10m, 401 5m',
  },
  'global-auth-always-set-cookie': {
    ...planned,
    codec: boolean,
    default: false,
    summary: 'Whether its cookies reach clients whatever the status of the answer.',
    example: 'true',
  },
  'no-auth-locations': {
    ...planned,
    codec: textList,
    default: ['/.well-known/acme-challenge'],
    shownDefault: '/.well-known/acme-challenge',
    summary: 'Paths that begin with one of these need neither a password nor external authentication.',
    example: '/.well-known/acme-challenge,/public',
  },
});
