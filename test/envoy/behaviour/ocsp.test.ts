/** `enable-ocsp`: handshakes carry what the responder of a certificate says, without a change of a listener. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { questionAbout, readAnswer } from '../../../src/ocsp/message.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { configMap, ingress, service, tlsSecret } from '../../support/manifests.ts';
import { type Responder, startResponder } from '../../support/ocsp.ts';
import type { Pair } from '../../support/pki.ts';
import { stapledResponse } from '../../support/stapled.ts';
import { soon } from './cases.ts';

const HOST = 'shop.example.com';
let responder: Responder;
let pair: Pair;
let gateway: Gateway;

beforeAll(async () => {
  responder = await startResponder();
  pair = await responder.issue(HOST);
  gateway = await startGateway({
    build: { configMap: 'default/controller' },
    manifests: [
      service('web'),
      tlsSecret('shop', pair),
      ingress({
        name: 'shop',
        tls: [{ hosts: [HOST], secretName: 'shop' }],
        rules: [{ host: HOST, paths: [{ service: 'web:80' }] }],
      }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await responder?.close();
});

async function enable(value: 'true' | 'false'): Promise<void> {
  await gateway.apply(configMap('controller', { 'enable-ocsp': value }));
}

function stapled() {
  return stapledResponse(gateway.httpsPort, HOST);
}

function listenerResponses(): number {
  return gateway.events.filter((event) => event.kind === 'response' && event.typeUrl.endsWith('Listener')).length;
}

test('what the responder says comes and goes with the key, and disturbs nobody', async () => {
  expect(await stapled()).toBeUndefined();
  const before = listenerResponses();
  await enable('true');
  await soon(async () => (await stapled()) !== undefined).toBe(true);
  const question = questionAbout(Buffer.from(pair.chain));
  if ('unasked' in question) throw new Error(question.unasked);
  expect(readAnswer((await stapled())!, question, Date.now())).toHaveProperty('nextUpdate');
  await enable('false');
  await soon(stapled).toBeUndefined();
  expect(listenerResponses()).toBe(before);
});

test('a certificate that its authority has revoked is served without it, and told of', async () => {
  responder.behaviour = { status: 'revoked' };
  await enable('true');
  await soon(async () => gateway.pipeline.controller.currentDiagnostics().map(({ message }) => message)).toContain(
    'the OCSP responder says that the certificate is revoked; handshakes carry no OCSP response',
  );
  expect(await stapled()).toBeUndefined();
});
