/** Where requests go by the Services and EndpointSlices that are there. */
import { observe, startServices } from '../../envoy/behaviour/cases.ts';
import { startDeafPort } from '../../envoy/behaviour/deaf-port.ts';
import { startRawBackend } from '../../envoy/behaviour/raw-backend.ts';
import { startBackend } from '../../support/backend.ts';
import { sendRaw } from '../../support/http-client.ts';
import { endpointSlice, externalName, ingress, type Manifest, service } from '../../support/manifests.ts';
import { REFUSING_PORT } from '../../support/static-envoy.ts';
import { table } from '../table.ts';

const PAGE_502 = '<center><h1>502 Bad Gateway</h1></center>';
const PAGE_503 = '<center><h1>503 Service Temporarily Unavailable</h1></center>';

/** An Ingress for the host of its own name, `NAME.example.com`. */
function to(name: string, backend: string): Manifest {
  return ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: backend }] }] });
}

/** A Service with one endpoint per port, and an Ingress for it. */
function at(name: string, ...ports: readonly number[]): Manifest[] {
  const slices = ports.map((port, index) => endpointSlice(name, ['127.0.0.1'], { port, suffix: String(index) }));
  return [service(name), ...slices, to(name, `${name}:80`)];
}

export const backends = table({
  start: async () => {
    const services = await startServices('web', 'other');
    const failing = await startBackend('failing', (request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { 'content-type': 'text/plain' });
      response.end('said by the backend');
    });
    const large = await startBackend('large', (request, response) => {
      response.writeHead(200, { 'x-large': 'x'.repeat(Number(request.url?.slice(1))) });
      response.end();
    });
    const raw = await Promise.all([
      startRawBackend((socket) => socket.resetAndDestroy()),
      startRawBackend((socket) => socket.end()),
      startRawBackend((socket) => socket.end('no HTTP\r\n\r\n')),
    ]);
    const [resetting = 0, closing = 0, talking = 0] = raw.map(({ port }) => port);
    const deaf = await startDeafPort();
    const live = await startBackend('live');
    return {
      close: async () => {
        deaf.close();
        await Promise.all([services, failing, large, live, ...raw].map((part) => part.close()));
      },
      manifests: [
        ...services.manifests,
        ...at('failing', failing.port),
        ...at('large', large.port),
        ...at('refused', REFUSING_PORT),
        ...at('deaf', deaf.port),
        ...at('resetting', resetting),
        ...at('closing', closing),
        ...at('talking', talking),
        ...at('half-refused', REFUSING_PORT, live.port),
        ...at('half-resetting', resetting, live.port),
        ...at('live', live.port),
        service('named', [
          { name: 'http', port: 80, targetPort: 'web' },
          { name: 'admin', port: 81, targetPort: 9443 },
        ]),
        endpointSlice('named', ['127.0.0.1'], { port: live.port, portName: 'http' }),
        endpointSlice('named', ['127.0.0.1'], { port: failing.port, portName: 'admin', suffix: 'b' }),
        to('by-number', 'named:80'),
        to('by-name', 'named:http'),
        to('by-target-name', 'named:web'),
        to('by-target-number', 'named:9443'),
        to('no-such-port', 'named:82'),
        to('no-service', 'nowhere:80'),
        service('empty'),
        to('empty', 'empty'),
        service('unready'),
        endpointSlice('unready', ['127.0.0.1'], { port: live.port, ready: false }),
        to('unready', 'unready'),
        service('half-ready'),
        endpointSlice('half-ready', ['127.0.0.1'], { port: REFUSING_PORT, ready: false }),
        endpointSlice('half-ready', ['127.0.0.1'], { port: live.port, suffix: 'b' }),
        to('half-ready', 'half-ready'),
        ingress({
          name: 'wider',
          rules: [
            {
              host: 'wider.example.com',
              paths: [
                { path: '/', service: 'web:80' },
                { path: '/empty', service: 'empty:80' },
              ],
            },
          ],
        }),
        ingress({
          name: 'own-default',
          defaultBackend: 'other:80',
          rules: [{ host: 'own-default.example.com', paths: [{ path: '/web', service: 'web:80' }] }],
        }),
        externalName('loopback', '127.0.0.1', live.port),
        to('loopback', `loopback:${live.port}`),
        externalName('localhost', 'localhost', live.port),
        to('localhost', `localhost:${live.port}`),
      ],
    };
  },
  groups: {
    'the port of a Service': [
      { url: 'http://by-number.example.com/', backend: 'live' },
      { url: 'http://by-name.example.com/', backend: 'live' },
      { url: 'http://by-target-name.example.com/', backend: 'live' },
      { url: 'http://by-target-number.example.com/418', status: 418, text: 'said by the backend' },
      { url: 'http://no-such-port.example.com/', status: 503 },
    ],
    'nothing to send to': [
      { url: 'http://no-service.example.com/', status: 503, text: PAGE_503 },
      { url: 'http://empty.example.com/', status: 503, text: PAGE_503 },
      { url: 'https://empty.example.com/', status: 503, text: PAGE_503 },
      { url: 'http://empty.example.com/', method: 'POST', body: 'x', status: 503 },
      { url: 'http://empty.example.com/', method: 'HEAD', status: 503 },
      { url: 'http://unready.example.com/', status: 503 },
      { url: 'http://half-ready.example.com/', backend: 'live' },
      { url: 'http://wider.example.com/empty/x', status: 503, because: 'no wider path answers for it' },
      { url: 'http://wider.example.com/x', backend: 'web' },
      { url: 'http://loopback.example.com/', status: 503, because: 'no name may lead to the proxy itself' },
      { url: 'http://localhost.example.com/', status: 503 },
    ],
    'spec.defaultBackend of an Ingress with rules': [
      { url: 'http://own-default.example.com/web', backend: 'web' },
      { url: 'http://own-default.example.com/x', backend: 'other' },
    ],
    'a backend that fails': [
      { url: 'http://refused.example.com/', status: 502, text: PAGE_502 },
      { url: 'https://refused.example.com/', status: 502, text: PAGE_502 },
      { url: 'http://refused.example.com/', method: 'HEAD', status: 502 },
      { url: 'http://resetting.example.com/', status: 502, text: PAGE_502 },
      { url: 'http://resetting.example.com/', method: 'POST', body: 'x', status: 502, text: PAGE_502 },
      { url: 'http://closing.example.com/', status: 502, text: PAGE_502 },
      {
        url: 'https://refused.example.com/pkg.Service/Method',
        method: 'POST',
        headers: { 'content-type': 'application/grpc', te: 'trailers' },
        status: 200,
        answered: { 'grpc-status': '14' },
        differs: 'grpcError',
        nginx: { status: 502, answered: { 'grpc-status': undefined }, text: PAGE_502 },
      },
    ],
    'what a backend says is passed on': [
      ...[200, 201, 301, 304, 400, 401, 403, 404, 413, 418, 429, 500, 502, 503, 504].map((status) => ({
        url: `http://failing.example.com/${status}`,
        status,
        text: status === 304 ? '' : 'said by the backend',
      })),
      { url: 'http://large.example.com/3000', status: 200 },
      { url: 'http://large.example.com/15000', status: 200, differs: 'largeAnswerHeaders', nginx: { status: 502 } },
    ],
    'another endpoint is tried': [
      ...['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH'].flatMap((method) =>
        [1, 2].map((turn) => ({
          url: `http://half-refused.example.com/?${turn}`,
          method,
          ...(method !== 'HEAD' && { backend: 'live' }),
        })),
      ),
      ...['GET', 'PUT', 'DELETE'].flatMap((method) =>
        [1, 2].map((turn) => ({ url: `http://half-resetting.example.com/?${turn}`, method, backend: 'live' })),
      ),
    ],
  },
  exchanges: [
    {
      title: 'a backend that answers something else than HTTP',
      run: async ({ httpPort }) => {
        const text = 'GET / HTTP/1.1\r\nHost: talking.example.com\r\nConnection: close\r\n\r\n';
        return (await sendRaw(httpPort, text)).split('\r\n', 1)[0];
      },
      expected: 'HTTP/1.1 502 Bad Gateway',
      differs: 'http09',
      nginx: 'no HTTP',
    },
    {
      title: 'a backend that takes no connection in time',
      run: async ({ httpPort }) => {
        const text = 'GET / HTTP/1.1\r\nHost: deaf.example.com\r\nConnection: close\r\n\r\n';
        const answer = await sendRaw(httpPort, text, { timeoutMs: 25_000 });
        return [answer.slice(0, 12), answer.includes('<center><h1>504 Gateway Time-out</h1></center>')];
      },
      expected: ['HTTP/1.1 504', true],
    },
    {
      title: 'equal shares of ten requests',
      run: async ({ httpPort }) => {
        const counts: Record<string, number> = {};
        for (let count = 0; count < 10; count += 1) {
          const { answer } = await observe(
            { httpPort, httpsPort: 0 },
            { url: 'http://half-resetting.example.com/', method: 'POST', body: 'x' },
          );
          counts[answer.status] = (counts[answer.status] ?? 0) + 1;
        }
        return counts;
      },
      expected: { 200: 5, 502: 5 },
    },
  ],
});
