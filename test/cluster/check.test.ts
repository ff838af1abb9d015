/** `check` reads a cluster, says what becomes of its Ingresses, and writes nothing. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CheckReport } from '../../src/cli/check/report.ts';
import { annotated } from '../annotations/table.ts';
import { configMap, ingress, ingressClass } from '../support/manifests.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { type Account, createAccount } from './support/permissions.ts';
import { namespace } from './support/workloads.ts';

let cluster: Cluster;
let account: Account;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  account = await createAccount(cluster);
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
});
afterAll(() => cluster?.stop());

async function check(...args: readonly string[]): Promise<{ code: number; stdout: string }> {
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const all = [main, 'check', '--kubeconfig', account.kubeconfig, ...args];
  return promisify(execFile)(process.execPath, all).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  );
}

test('each annotation of the cluster, and the ConfigMap', async () => {
  const ns = await namespace(cluster);
  await cluster.api.apply(configMap('options', { 'proxy-read-timeout': '5', 'no-such-key': '1' }, ns));
  const annotations = annotated({ 'proxy-read-timeout': '60s', 'force-ssl-redirect': 'true', 'rewrite-targt': '/' });
  const web = ingress({ name: 'web', namespace: ns, annotations, rules: [{ host: 'web.test', paths: [{}] }] });
  await cluster.api.apply(web);
  const { code, stdout } = await check('--configmap', `${ns}/options`, '--watch-namespace', ns, '--output', 'json');
  const report = JSON.parse(stdout) as CheckReport;
  expect(report.ingresses.map(({ ingress: key, state }) => [key, state])).toEqual([[`${ns}/web`, 'served']]);
  const states = report.ingresses[0]?.annotations.map(({ name, state }) => [name, state]);
  expect(states).toEqual([
    ['force-ssl-redirect', 'honoured'],
    ['proxy-read-timeout', 'invalid'],
    ['rewrite-targt', 'unknown'],
  ]);
  expect(report.configMap?.keys.map(({ name, state }) => [name, state])).toEqual([
    ['no-such-key', 'unknown'],
    ['proxy-read-timeout', 'honoured'],
  ]);
  // What an Ingress of a cluster names and is not there is wrong, unlike in a folder.
  expect(report.findings.map(({ code: id }) => id)).toContain('ServiceNotFound');
  expect(code).toBe(1);
  const { metadata, status } = await cluster.api.get(`/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses/web`);
  expect(status.loadBalancer).toEqual({});
  expect(JSON.stringify(metadata['managedFields'] ?? [])).not.toContain('ingress-xds');
});

test('a cluster that is not there is said in one line', async () => {
  const { code } = await check('--apiserver-host', 'https://127.0.0.1:1');
  expect(code).not.toBe(0);
});
