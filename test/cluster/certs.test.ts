/** `certs` in a cluster, with the permissions that it needs and no others. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand, startCommand } from '../support/command.ts';
import type { KubernetesObject } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { createAccount } from './support/permissions.ts';
import { namespace } from './support/workloads.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
});
afterAll(async () => {
  await cluster?.stop();
});

const secrets = ['ingress-xds-ca', 'ingress-xds-server-tls', 'ingress-xds-proxy-tls', 'edge-2-tls'];
const rule = (verbs: readonly string[], resourceNames?: readonly string[]) => ({
  apiGroups: [''],
  resources: ['secrets'],
  verbs,
  ...(resourceNames && { resourceNames }),
});
const RULES = [rule(['create']), rule(['get', 'patch'], secrets)];

/** The files of a Secret as text. */
async function read(ns: string, name: string): Promise<Record<string, string>> {
  const { type, data } = (await cluster.api.get(`/api/v1/namespaces/${ns}/secrets/${name}`)) as KubernetesObject & {
    readonly type: string;
    readonly data: Readonly<Record<string, string>>;
  };
  expect(type).toBe('kubernetes.io/tls');
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
}

test('makes Secrets, and renews all but the authority when it runs again', async () => {
  const ns = await namespace(cluster);
  const { kubeconfig, user } = await createAccount(cluster, {
    namespace: ns,
    name: 'certs',
    clusterRules: [],
    rules: RULES,
  });
  const apply = async () => {
    const flags = ['--apply', '--namespace', ns, '--kubeconfig', kubeconfig];
    const result = await runCommand(['certs', ...flags, '--client', 'ingress-xds-proxy', '--client', 'edge-2']);
    expect(result).toMatchObject({ code: 0, output: expect.not.stringContaining('PRIVATE KEY') });
    return await Promise.all(secrets.map((name) => read(ns, name)));
  };
  const first = await apply();
  const [authority, ...leaves] = first;
  const ca = new X509Certificate(authority!['tls.crt']!);
  for (const leaf of leaves) {
    const certificate = new X509Certificate(leaf['tls.crt']!);
    expect([leaf['ca.crt'], certificate.verify(ca.publicKey)]).toEqual([authority!['tls.crt'], true]);
  }
  const [server, proxy] = leaves.map((leaf) => new X509Certificate(leaf['tls.crt']!).subjectAltName);
  expect(server).toContain(`DNS:ingress-xds-xds.${ns}.svc,`);
  expect(proxy).toBe('DNS:ingress-xds-proxy');

  const second = await apply();
  expect(second[0]).toEqual(authority);
  expect(second.slice(1).map((leaf, index) => leaf['tls.crt'] === leaves[index]?.['tls.crt'])).toEqual([
    false,
    false,
    false,
  ]);
  const requests = cluster.audit(user);
  expect(requests.filter(({ status }) => status === 403)).toEqual([]);
  expect(new Set(requests.map(({ verb }) => verb))).toEqual(new Set(['get', 'create', 'patch']));
});

test('an authority that is broken is not replaced, and what is forbidden is told', async () => {
  const ns = await namespace(cluster);
  const { kubeconfig } = await createAccount(cluster, { namespace: ns, name: 'certs', clusterRules: [], rules: RULES });
  const flags = ['certs', '--apply', '--namespace', ns, '--kubeconfig', kubeconfig];
  const metadata = { name: 'ingress-xds-ca', namespace: ns };
  await cluster.api.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    stringData: { 'tls.crt': 'x' },
  });
  expect(await runCommand(flags)).toMatchObject({
    code: 1,
    output: expect.stringContaining(`Secret ${ns}/ingress-xds-ca: holds no PEM certificate with a PEM private key`),
  });
  const forbidden = await runCommand([...flags.slice(0, 2), '--namespace', 'default', ...flags.slice(4)]);
  expect(forbidden).toMatchObject({
    code: 1,
    output: expect.stringMatching(/cannot read Secret default\/ingress-xds-ca: .* is forbidden/),
  });
});

test('what it prints can be applied with kubectl', async () => {
  const ns = await namespace(cluster);
  const command = startCommand(['certs', '--output', 'secret', '--namespace', ns]);
  expect(await command.exit).toBe(0);
  await cluster.kubectl(['apply', '-f', '-'], command.output());
  const [authority, server] = await Promise.all([read(ns, 'ingress-xds-ca'), read(ns, 'ingress-xds-server-tls')]);
  const ca = new X509Certificate(authority['tls.crt']!);
  expect(new X509Certificate(server['tls.crt']!).verify(ca.publicKey)).toBe(true);
  expect(Object.keys(await read(ns, 'ingress-xds-proxy-tls')).toSorted()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
});
