/** Certificates that are valid, and that Envoy's TLS library may refuse: none reaches Envoy that is refused there. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { peerCertificate } from '../support/http-client.ts';
import { ingress, tlsSecret } from '../support/manifests.ts';
import * as odd from '../support/odd-certificates.ts';

const HOST = 'shop.example.com';
let gateway: Gateway;

beforeAll(async () => {
  const tls = [{ hosts: [HOST], secretName: 'odd' }];
  gateway = await startGateway({ manifests: [ingress({ name: 'shop', rules: [{ host: HOST, paths: [{}] }], tls })] });
});
afterAll(() => gateway?.close());

const refusals = () => gateway.events.filter(({ kind }) => kind === 'nack');
const shownName = async () => (await peerCertificate(gateway.httpsPort, HOST)).subjectaltname;

test.each(Object.entries(odd).filter(([name]) => name !== 'clientOnly'))(
  '%s: the default certificate is shown',
  async (_, pair) => {
    await gateway.remove('Secret', 'odd');
    await gateway.apply(tlsSecret('odd', pair));
    expect(await shownName()).toBe('DNS:ingress.local');
    expect(refusals()).toEqual([]);
  },
);

test('what Envoy takes is shown', async () => {
  await gateway.apply(tlsSecret('odd', odd.clientOnly));
  expect(await shownName()).toBe(`DNS:${HOST}`);
  expect(refusals()).toEqual([]);
});
