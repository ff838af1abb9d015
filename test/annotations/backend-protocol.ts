import type { Ports } from '../parity/table.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { callGrpc, startGrpcBackend } from '../support/grpc-backend.ts';
import { ingress, service } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { startSecureBackend } from '../support/secure-backend.ts';
import { type AnnotationTable, annotated } from './table.ts';

const DOMAIN = 'protocol.example.com';

/** A host of this name whose backends are asked with this protocol. */
function host(name: string, protocol: string | undefined, to: string) {
  const address = `${name}.${DOMAIN}`;
  return ingress({
    name,
    annotations: annotated({
      'ssl-redirect': 'false',
      ...(protocol !== undefined && { 'backend-protocol': protocol }),
    }),
    rules: [{ host: address, paths: [{ path: '/', service: `${to}:80` }] }],
    tls: [{ hosts: [address] }],
  });
}

function grpc(name: string, { tls, path = '/echo' }: { readonly tls: boolean; readonly path?: string }) {
  return ({ httpPort, httpsPort }: Ports) =>
    callGrpc({ port: tls ? httpsPort : httpPort, tls, host: `${name}.${DOMAIN}`, path });
}

export const backendProtocol: AnnotationTable = {
  title: 'protocol of backends',
  start: async () => {
    const pair = await makePair(['pod.example.com']);
    const backends: readonly Backend[] = await Promise.all([
      startBackend('plain'),
      startSecureBackend('secure', { pair }),
      startGrpcBackend('grpc'),
      startGrpcBackend('grpcs', pair),
    ]);
    const services = backends.flatMap((backend) => [service(backend.name), backend.slice(backend.name)]);
    return {
      close: async () => {
        await Promise.all(backends.map((backend) => backend.close()));
      },
      manifests: [
        ...services,
        service('gone'),
        host('default', undefined, 'plain'),
        host('http', 'HTTP', 'plain'),
        host('https', 'HTTPS', 'secure'),
        host('lower', 'https', 'secure'),
        host('plain-of-secure', 'HTTP', 'secure'),
        host('auto', 'AUTO_HTTP', 'plain'),
        host('auto-secure', 'auto_http', 'secure'),
        host('grpc', 'GRPC', 'grpc'),
        host('grpcs', 'GRPCS', 'grpcs'),
        host('lower-grpc', 'grpc', 'grpc'),
        host('gone-grpc', 'GRPC', 'gone'),
        host('fcgi', 'FCGI', 'plain'),
        host('bad', 'FTP', 'plain'),
      ],
    };
  },
  keys: {
    'backend-protocol': {
      good: [
        { url: `http://http.${DOMAIN}/a`, backend: 'plain' },
        {
          url: `http://https.${DOMAIN}/a?b`,
          backend: 'secure',
          path: '/a?b',
          received: { host: `https.${DOMAIN}`, 'x-forwarded-proto': 'http', 'seen-server-name': 'none' },
          because: 'whatever certificate the backend shows',
        },
        { url: `https://https.${DOMAIN}/`, backend: 'secure', received: { 'x-forwarded-proto': 'https' } },
        { url: `http://https.${DOMAIN}/`, method: 'POST', body: 'text', backend: 'secure' },
        { url: `http://lower.${DOMAIN}/`, backend: 'secure' },
        { url: `http://auto.${DOMAIN}/`, backend: 'plain' },
        { url: `https://auto.${DOMAIN}/`, status: 502, because: 'it speaks no TLS' },
        { url: `https://auto-secure.${DOMAIN}/`, backend: 'secure' },
        {
          title: 'GRPC over HTTP/2, with trailers',
          run: grpc('grpc', { tls: true }),
          expected: {
            status: 200,
            backend: 'grpc',
            authority: `grpc.${DOMAIN}`,
            scheme: 'https',
            body: 'hello',
            grpcStatus: '0',
          },
        },
        {
          title: 'a status of GRPC that is an error',
          run: grpc('grpc', { tls: true, path: '/status/7' }),
          expected: {
            status: 200,
            backend: 'grpc',
            authority: `grpc.${DOMAIN}`,
            scheme: 'https',
            body: 'hello',
            grpcStatus: '7',
          },
        },
        {
          title: 'GRPCS',
          run: grpc('grpcs', { tls: true }),
          expected: {
            status: 200,
            backend: 'grpcs',
            authority: `grpcs.${DOMAIN}`,
            scheme: 'https',
            body: 'hello',
            grpcStatus: '0',
          },
        },
        {
          url: `http://lower-grpc.${DOMAIN}/echo`,
          method: 'POST',
          answered: { 'seen-backend': 'grpc', 'content-type': 'application/grpc' },
          because: 'clients of HTTP/1 can ask too',
        },
        { url: `http://fcgi.${DOMAIN}/`, status: 503 },
      ],
      bad: [{ url: `http://bad.${DOMAIN}/`, backend: 'plain' }],
      default: [
        { url: `http://default.${DOMAIN}/`, backend: 'plain' },
        { url: `https://default.${DOMAIN}/`, backend: 'plain' },
      ],
      neighbours: [
        {
          url: `http://plain-of-secure.${DOMAIN}/`,
          status: 502,
          because: 'another Ingress says something else about the same Service',
        },
        {
          title: 'GRPC without an endpoint',
          run: async (ports) => {
            const { status, backend, grpcStatus } = await grpc('gone-grpc', { tls: true })(ports);
            return { status, backend, grpcStatus };
          },
          expected: { status: 200, backend: undefined, grpcStatus: '14' },
          differs: 'grpcError',
          nginx: { status: 503, backend: undefined, grpcStatus: undefined },
        },
      ],
    },
  },
};
