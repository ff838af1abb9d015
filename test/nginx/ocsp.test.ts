/** `enable-ocsp` in NGINX mode, with certificates from files and from the Lua module. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMap, ingress, service, tlsSecret } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { type Responder, startResponder } from '../support/ocsp.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { stapledResponse } from '../support/stapled.ts';

const HOST = 'shop.example.com';
let responder: Responder;
let pair: Pair;

beforeAll(async () => {
  responder = await startResponder();
  pair = await responder.issue(HOST);
});
afterAll(() => responder.close());

describe.each([
  ['with files', false],
  ['with Lua', true],
])('%s', (_, lua) => {
  let gateway: NginxGateway;
  beforeAll(async () => {
    gateway = await startNginxGateway({
      lua,
      build: { configMap: 'default/controller' },
      manifests: [
        service('web'),
        tlsSecret('shop', pair),
        tlsSecret('other', await makePair(['other.example.com'])),
        ...['shop', 'other'].map((name) =>
          ingress({
            name,
            tls: [{ hosts: [`${name}.example.com`], secretName: name }],
            rules: [{ host: `${name}.example.com`, paths: [{ service: 'web:80' }] }],
          }),
        ),
      ],
    });
  });
  afterAll(() => gateway?.close());

  test('a handshake carries what the responder says of its certificate, and of no other', async () => {
    expect(await stapledResponse(gateway.httpsPort, HOST)).toBeUndefined();
    const carries = async () => (await stapledResponse(gateway.httpsPort, HOST)) !== undefined;
    await gateway.apply(configMap('controller', { 'enable-ocsp': 'true' }));
    await expect.poll(carries, { timeout: 15_000 }).toBe(true);
    expect(await stapledResponse(gateway.httpsPort, 'other.example.com')).toBeUndefined();
    expect(await stapledResponse(gateway.httpsPort, 'unknown.example.com')).toBeUndefined();
    await gateway.apply(configMap('controller', {}));
    await expect.poll(carries, { timeout: 15_000 }).toBe(false);
  });
});
