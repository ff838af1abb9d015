/** The built-in echo backend takes whatever an Ingress says that its backends speak. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { echoPair } from '../../../src/cli/generated-certificate.ts';
import { createEcho, type EchoAnswer } from '../../../src/files/echo.ts';
import { annotated } from '../../annotations/table.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { callGrpc } from '../../support/grpc-backend.ts';
import { send } from '../../support/http-client.ts';
import { endpointSlice, ingress, service } from '../../support/manifests.ts';

const PROTOCOLS = ['HTTP', 'HTTPS', 'GRPC', 'GRPCS'] as const;
const echo = createEcho(echoPair);
let gateway: Gateway;

beforeAll(async () => {
  const [address] = (await echo.ensure([{ namespace: 'default', service: 'web', port: '80' }])).values();
  gateway = await startGateway({
    manifests: [
      service('web'),
      endpointSlice('web', [address!.ip], { port: address!.port }),
      ...PROTOCOLS.map((protocol) =>
        ingress({
          name: protocol.toLowerCase(),
          annotations: annotated({ 'backend-protocol': protocol }),
          rules: [{ host: `${protocol.toLowerCase()}.example.com`, paths: [{ service: 'web:80' }] }],
        }),
      ),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await echo.close();
});

test.each([
  ['HTTP', { tls: undefined, protocol: undefined }],
  ['HTTPS', { tls: { serverName: '' }, protocol: undefined }],
  ['GRPC', { tls: undefined, protocol: 'HTTP/2' }],
  ['GRPCS', { tls: { serverName: '' }, protocol: 'HTTP/2' }],
])('%s', async (protocol, expected) => {
  const { status, body } = await send({ port: gateway.httpPort, host: `${protocol.toLowerCase()}.example.com` });
  expect(status).toBe(200);
  const { tls, protocol: spoken } = JSON.parse(body) as EchoAnswer;
  expect({ tls, protocol: spoken }).toEqual(expected);
});

test('a call of gRPC gets an answer of gRPC', async () => {
  const answer = await callGrpc({
    port: gateway.httpsPort,
    tls: true,
    host: 'grpc.example.com',
    path: '/shop.Cart/Add',
  });
  expect(answer).toMatchObject({ grpcStatus: '12' });
});
