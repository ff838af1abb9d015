import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { send, sendHttp2 } from '../support/http-client.ts';
import { ingress, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';

let gateway: Gateway;
let web: Backend;

beforeAll(async () => {
  web = await startBackend('web');
  gateway = await startGateway({
    manifests: [
      ingress({
        name: 'shop',
        rules: [{ host: 'shop.example.com', paths: [{}] }],
        tls: [{ hosts: ['shop.example.com'], secretName: 'shop' }],
      }),
      service('web'),
      web.slice('web'),
      tlsSecret('shop', await makePair(['shop.example.com'])),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await web.close();
});

test('serves over https and redirects', async () => {
  const answer = await send({ port: gateway.httpsPort, tls: true, host: 'shop.example.com', path: '/x?y=1' });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.body)).toMatchObject({ backend: 'web', url: '/x?y=1' });
  expect((await sendHttp2({ port: gateway.httpsPort, host: 'shop.example.com' })).status).toBe(200);
  expect((await send({ port: gateway.httpPort, host: 'shop.example.com' })).status).toBe(308);
  await gateway.remove('Ingress', 'shop');
  expect((await send({ port: gateway.httpPort, host: 'shop.example.com' })).status).toBe(404);
});
