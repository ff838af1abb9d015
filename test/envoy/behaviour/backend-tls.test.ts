/** TLS to backends while it changes: certificates that are shown to them, and authorities that they are checked against. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { annotated } from '../../annotations/table.ts';
import type { Backend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { ingress, type Manifest, secret, service } from '../../support/manifests.ts';
import { type Authority, makeAuthority } from '../../support/pki.ts';
import { startSecureBackend } from '../../support/secure-backend.ts';
import { observe, soon } from './cases.ts';

const POD = 'pod.example.com';

let root: Authority;
let backend: Backend;
let gateway: Gateway;

function host(name: string, annotations: Readonly<Record<string, string>> = {}): Manifest {
  return ingress({
    name,
    annotations: annotated({
      'backend-protocol': 'HTTPS',
      'proxy-ssl-secret': 'default/backend',
      'proxy-ssl-verify': 'on',
      'proxy-ssl-name': POD,
      ...annotations,
    }),
    rules: [{ host: `${name}.example.com`, paths: [{ path: '/', service: 'pod:443' }] }],
  });
}

async function backendSecret(client: string, authority = root): Promise<Manifest> {
  const { chain, key } = await root.issue(client);
  return secret('backend', { 'tls.crt': chain, 'tls.key': key, 'ca.crt': authority.certificate });
}

/** What the backend has seen of the certificate that it was shown; else the status. */
async function seenBy(name: string): Promise<unknown> {
  const { answer, received } = await observe(gateway, { url: `http://${name}.example.com/` });
  return received?.headers['seen-client'] ?? answer.status;
}

beforeAll(async () => {
  root = await makeAuthority('root');
  backend = await startSecureBackend('pod', {
    pair: await root.issue(POD),
    clientAuthority: root.certificate,
    onceOnly: true,
  });
  gateway = await startGateway({
    manifests: [service('pod', [{ port: 443 }]), backend.slice('pod'), await backendSecret('first'), host('one')],
  });
});
afterAll(async () => {
  await gateway?.close();
  await backend?.close();
});

test('a Secret that is known already serves one more cluster at once', async () => {
  expect(await seenBy('one')).toBe('first');
  await gateway.apply(host('two', { 'proxy-ssl-server-name': 'on' }));
  expect(await seenBy('two')).toBe('first');
});

test('a certificate is renewed, and authorities change, without a change of the clusters', async () => {
  const clusters = () => gateway.events.filter((event) => event.kind === 'response' && /Cluster$/.test(event.typeUrl));
  const before = clusters().length;
  await gateway.apply(await backendSecret('second'));
  await soon(() => seenBy('one')).toBe('second');
  await gateway.apply(await backendSecret('third', await makeAuthority('other')));
  await soon(() => seenBy('one')).toBe(502);
  expect(clusters()).toHaveLength(before);
  await gateway.apply(await backendSecret('fourth'));
  await soon(() => seenBy('one')).toBe('fourth');
});

test('without a usable Secret paths are closed, and open when there is one again', async () => {
  await gateway.apply(secret('backend', { 'ca.crt': 'nothing' }));
  await soon(() => seenBy('one')).toBe(503);
  await gateway.apply(await backendSecret('fifth'));
  await soon(() => seenBy('one')).toBe('fifth');
  await gateway.remove('Secret', 'backend');
  await soon(() => seenBy('one')).toBe(503);
  expect(await seenBy('two')).toBe(503);
});
