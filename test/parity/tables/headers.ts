/** What backends are told of a request, and clients of an answer. */
import { type Case, startServices } from '../../envoy/behaviour/cases.ts';
import { startBackend } from '../../support/backend.ts';
import { ingress, service } from '../../support/manifests.ts';
import { table } from '../table.ts';

const overwritten: Readonly<Record<string, [claimed: string, seen: string]>> = {
  'x-real-ip': ['9.9.9.9', '127.0.0.1'],
  'x-forwarded-for': ['9.9.9.9', '127.0.0.1'],
  'x-forwarded-host': ['evil.example.org', 'web.example.com'],
  'x-forwarded-proto': ['https', 'http'],
  'x-forwarded-scheme': ['https', 'http'],
  'x-scheme': ['https', 'http'],
};
const removed = [
  'proxy',
  'x-envoy-retry-on',
  'x-envoy-max-retries',
  'x-envoy-upstream-rq-timeout-ms',
  'x-envoy-original-path',
  'x-envoy-external-address',
  'x-envoy-decorator-operation',
  'x-envoy-internal',
  'x-envoy-force-trace',
  'under_score',
];

/** nginx knows none of Envoy's own headers. */
function passedOn(name: string): Pick<Case, 'differs' | 'nginx'> {
  return { differs: 'envoyHeaders', nginx: { backend: 'web', received: { [name]: '1' } } };
}

export const headers = table({
  start: async () => {
    const services = await startServices('web');
    const talkative = await startBackend('talkative', (_request, response) => {
      response.writeHead(200, {
        server: 'backend/1.0',
        'x-powered-by': 'backend',
        'cache-control': 'private',
        'set-cookie': ['a=1; Path=/', 'b=2; HttpOnly'],
        location: 'http://backend.internal/next',
        'strict-transport-security': 'max-age=1',
        'x-request-id': 'of-the-backend',
      });
      response.end('ok');
    });
    return {
      close: async () => {
        await Promise.all([services.close(), talkative.close()]);
      },
      manifests: [
        ...services.manifests,
        service('talkative'),
        talkative.slice('talkative'),
        ingress({ name: 'web', rules: [{ host: 'web.example.com', paths: [{}] }] }),
        ingress({
          name: 'talkative',
          rules: [{ host: 'talkative.example.com', paths: [{ service: 'talkative:80' }] }],
        }),
      ],
    };
  },
  groups: {
    'what a backend is told of the client': [
      {
        url: 'http://web.example.com/x?y=1',
        backend: 'web',
        path: '/x?y=1',
        received: {
          host: 'web.example.com',
          'x-real-ip': '127.0.0.1',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-host': 'web.example.com',
          'x-forwarded-proto': 'http',
          'x-forwarded-scheme': 'http',
          'x-scheme': 'http',
          'x-original-forwarded-for': undefined,
        },
      },
      {
        url: 'https://web.example.com/',
        backend: 'web',
        received: { 'x-forwarded-proto': 'https', 'x-forwarded-scheme': 'https', 'x-scheme': 'https' },
      },
      {
        url: 'http://web.example.com:8080/',
        backend: 'web',
        received: { host: 'web.example.com:8080', 'x-forwarded-host': 'web.example.com:8080' },
      },
    ],
    'what a client says of itself is not believed': [
      ...Object.entries(overwritten).map(([name, [claimed, seen]]) => ({
        url: 'http://web.example.com/',
        headers: { [name]: claimed },
        backend: 'web',
        received: { [name]: seen },
        because: `${name} is overwritten`,
      })),
      ...removed.map((name) => ({
        url: 'http://web.example.com/',
        headers: { [name]: '1' },
        backend: 'web',
        received: { [name]: undefined },
        because: `${name} is removed`,
        ...(name.startsWith('x-envoy-') && passedOn(name)),
      })),
      {
        url: 'http://web.example.com/',
        headers: { 'x-forwarded-port': '1' },
        backend: 'web',
        received: { 'x-original-forwarded-for': undefined },
      },
      {
        url: 'http://web.example.com/',
        headers: { 'x-forwarded-for': '9.9.9.9, 8.8.8.8' },
        backend: 'web',
        received: { 'x-original-forwarded-for': '9.9.9.9, 8.8.8.8', 'x-forwarded-for': '127.0.0.1' },
        because: 'but the list that it sent is kept under another name',
      },
      {
        url: 'http://web.example.com/',
        headers: { 'x-original-forwarded-for': '7.7.7.7' },
        backend: 'web',
        received: { 'x-original-forwarded-for': undefined },
      },
      {
        url: 'http://web.example.com/',
        headers: { 'x-original-forwarded-for': '7.7.7.7', 'x-forwarded-for': '9.9.9.9' },
        backend: 'web',
        received: { 'x-original-forwarded-for': '9.9.9.9' },
      },
    ],
    'what a client may say': Object.entries({
      'x-request-id': 'any-text of mine',
      authorization: 'Bearer token',
      cookie: 'a=1; b=2',
      'user-agent': 'test/1.0',
      referer: 'https://shop.example.com/page?x=1',
      'accept-encoding': 'gzip, br',
      accept: 'application/json',
      'x-custom-header': 'value with spaces, commas; and more',
      origin: 'https://shop.example.com',
      forwarded: 'for=9.9.9.9',
      'cf-connecting-ip': '9.9.9.9',
    }).map(([name, value]) => ({
      url: 'http://web.example.com/',
      headers: { [name]: value },
      backend: 'web',
      received: { [name]: value },
      because: `${name} arrives as it is`,
    })),
    'what a client is told': [
      {
        url: 'http://talkative.example.com/',
        answered: {
          server: undefined,
          'x-envoy-upstream-service-time': undefined,
          'x-powered-by': 'backend',
          'cache-control': 'private',
          location: 'http://backend.internal/next',
          'x-request-id': 'of-the-backend',
        },
      },
      {
        url: 'https://talkative.example.com/',
        answered: { 'strict-transport-security': 'max-age=31536000; includeSubDomains' },
        because: 'one word on HSTS, that of the proxy',
      },
      {
        url: 'http://web.example.com/',
        backend: 'web',
        answered: { server: undefined, via: undefined, 'x-request-id': undefined },
      },
      { url: 'http://unknown.example.org/', status: 404, answered: { server: undefined } },
    ],
  },
});
