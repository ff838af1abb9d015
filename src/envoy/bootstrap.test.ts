import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEnvoy } from './binary.ts';
import { type BootstrapOptions, buildBootstrap } from './bootstrap.ts';
import { envoyArguments } from './command-line.ts';

const run = promisify(execFile);
let folder: string;
let envoyPath: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootstrap-test-'));
  envoyPath = (await findEnvoy()).path;
});
afterAll(() => rm(folder, { recursive: true }));

/** What Envoy itself says about a bootstrap, with the arguments of the product. */
async function validate(bootstrap: object): Promise<string> {
  const bootstrapPath = join(folder, 'bootstrap.json');
  await writeFile(bootstrapPath, JSON.stringify(bootstrap));
  const args = envoyArguments({ bootstrapPath, concurrency: 1, drainTimeS: 240, logLevel: 'warning' });
  const { stdout, stderr } = await run(envoyPath, [...args, '--mode', 'validate']);
  return `${stdout}${stderr}`.trim();
}

const base: BootstrapOptions = {
  node: { id: 'proxy-0', cluster: 'ingress-xds' },
  xds: { kind: 'unix', path: '/run/xds.sock' },
  adminSocket: '/run/admin.sock',
};

describe('Envoy accepts, without a warning,', () => {
  test.each<[string, BootstrapOptions]>([
    ['a control plane on a Unix socket', { ...base, maxDownstreamConnections: 1_000 }],
    ['one by name', { ...base, xds: { kind: 'tcp', host: 'ingress-xds.infra.svc', port: 18_000 } }],
    ['one by address', { ...base, xds: { kind: 'tcp', host: '127.0.0.1', port: 18_000 } }],
    ['one by IPv6 address', { ...base, xds: { kind: 'tcp', host: '::1', port: 18_000 } }],
  ])('%s', async (_, options) => {
    expect(await validate(buildBootstrap(options))).toMatch(/^configuration '.*' OK$/);
  });

  test('and would refuse a field that does not exist', async () => {
    const wrong = { ...buildBootstrap(base), deferred_stats: {} };
    await expect(validate(wrong)).rejects.toThrow('deferred_stats');
  });
});

test('a proxy tells its node once for each stream', () => {
  expect(buildBootstrap(base)).toMatchObject({
    dynamic_resources: { ads_config: { api_type: 'DELTA_GRPC', set_node_on_first_message_only: true } },
  });
});
