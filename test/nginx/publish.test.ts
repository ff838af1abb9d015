/** How a configuration gets into a real nginx, and what stays in force when it does not. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PublishOutcome } from '../../src/nginx/publish.ts';
import { createTemplate, type Template } from '../../src/nginx/template.ts';
import { builtInPartials, builtInTemplate } from '../../src/nginx/template-files.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { changesOf } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { configMap, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { makePair } from '../support/pki.ts';
import { eventually } from '../support/process/processes.ts';

let gateway: NginxGateway;
let backend: Backend;
let other: Backend;

beforeEach(async () => {
  backend = await startBackend('pod');
  other = await startBackend('other-pod');
});
afterEach(async () => {
  await gateway.close();
  await backend.close();
  await other.close();
});

async function start(options: Parameters<typeof startNginxGateway>[0] = {}): Promise<void> {
  gateway = await startNginxGateway({
    ...options,
    manifests: [
      service('web'),
      backend.slice('web'),
      service('other'),
      other.slice('other'),
      site('first'),
      ...(options.manifests ?? []),
    ],
  });
}

function site(name: string, to = 'web:80'): Manifest {
  return ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: to }] }] });
}

async function status(name: string): Promise<number> {
  return (await send({ port: gateway.httpPort, host: `${name}.example.com` })).status;
}

async function podOf(name: string): Promise<unknown> {
  const { status, body } = await send({ port: gateway.httpPort, host: `${name}.example.com` });
  return status === 200 ? JSON.parse(body).backend : status;
}

function edit(...manifests: readonly Manifest[]): void {
  gateway.change(changesOf(manifests));
}

function kinds(): string[] {
  return gateway.outcomes.map(({ kind }) => kind);
}

/** The n-th outcome of this kind, counted from 1. */
async function outcome<K extends PublishOutcome['kind']>(kind: K, count = 1) {
  return await eventually(
    `outcome ${kind} ${count}`,
    () => gateway.outcomes.filter((one) => one.kind === kind)[count - 1] as PublishOutcome & { kind: K },
  );
}

/** The configuration that nginx would start with. */
async function onDisk(): Promise<string> {
  return await readFile(join(gateway.folder, 'nginx.conf'), 'utf8');
}

describe('a configuration that cannot be', () => {
  /** A template whose main part is this; the built-in one again when it is emptied. */
  let text = '';
  const template = (): Template =>
    text === '' ? builtInTemplate() : createTemplate('user.tmpl', text, builtInPartials());

  beforeEach(async () => {
    text = '';
    await start({ delivery: { template } });
  });

  test.each([
    ['rendered', 'worker_processes 1;\n<%= it.nobody.knows %>\n', 'render', /^user\.tmpl:2: .*undefined/],
    ['accepted by nginx', 'worker_processes 1;\nevents {}\nservr {}\n', 'check', /unknown directive "servr" in line 4/],
  ])('%s leaves the last good one in force, until it is mended', async (_, broken, step, reason) => {
    const before = await onDisk();
    text = broken;
    edit(site('second'));
    expect(await outcome('failed')).toMatchObject({ step, reason: expect.stringMatching(reason), retryInMs: 1_000 });
    expect(await Promise.all(['first', 'second'].map(status))).toEqual([200, 404]);
    expect(await onDisk()).toBe(before);
    expect((await readdir(gateway.folder)).filter((file) => file.endsWith('.tmp'))).toEqual([]);
    text = '';
    gateway.delivery.refresh();
    await gateway.settled();
    expect(await Promise.all(['first', 'second'].map(status))).toEqual([200, 200]);
    expect(kinds()).toEqual(['loaded', 'failed', 'loaded']);
  });

  test('holds up no endpoints, and a later edit that mends it', async () => {
    text = 'nonsense;';
    edit(site('second'));
    await outcome('failed');
    edit(other.slice('web', { suffix: 'pod' }));
    await eventually('the other pod', async () => (await podOf('first')) === 'other-pod');
    text = '';
    edit(site('third'));
    await gateway.settled();
    expect(await Promise.all(['first', 'second', 'third'].map(status))).toEqual([200, 200, 200]);
  });

  test('is tried again by itself', async () => {
    text = 'nonsense;';
    edit(site('second'));
    await outcome('failed');
    text = '';
    await gateway.settled();
    expect(await status('second')).toBe(200);
  });
});

test('a disk that is full leaves the last good one in force, until there is space again', async () => {
  const { render } = builtInTemplate();
  let full = false;
  // The draft lies on a device without space: it is called after the checksum of its text.
  const template = (): Template => ({
    render: (config) => {
      const text = render(config);
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
      if (full) symlinkSync('/dev/full', join(gateway.folder, `nginx.${hash}.tmp`));
      return text;
    },
  });
  await start({ delivery: { template } });
  const before = await onDisk();
  full = true;
  edit(site('second'));
  expect(await outcome('failed')).toMatchObject({ step: 'write', reason: expect.stringContaining('ENOSPC') });
  expect(await onDisk()).toBe(before);
  expect(await Promise.all(['first', 'second'].map(status))).toEqual([200, 404]);
  full = false;
  await gateway.settled();
  expect(await status('second')).toBe(200);
  expect(kinds()).toEqual(['loaded', 'failed', 'loaded']);
});

describe('an nginx that does not load', () => {
  test('since its master hangs is told; it serves on, and loads once it goes on', async () => {
    await start({ delivery: { reloadTimeoutMs: 300 } });
    const before = await onDisk();
    process.kill(gateway.pid, 'SIGSTOP');
    edit(site('second'));
    const reason = `nginx (process ${gateway.pid}) has started no new workers within 0.3 s; its log may say why`;
    expect(await outcome('failed')).toMatchObject({ step: 'reload', reason });
    expect(await Promise.all(['first', 'second'].map(status))).toEqual([200, 404]);
    expect(await onDisk()).toBe(before);
    process.kill(gateway.pid, 'SIGCONT');
    await gateway.settled();
    expect(await Promise.all(['first', 'second'].map(status))).toEqual([200, 200]);
  });

  test('since a port is taken goes on with what it has, and would start with it', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const services = (data: Readonly<Record<string, string>>) => configMap('tcp', data, 'ingress-nginx');
    // nginx tries for two and a half seconds to have a port.
    await start({
      build: { tcpServices: 'ingress-nginx/tcp' },
      manifests: [services({})],
      delivery: { reloadTimeoutMs: 4_000 },
    });
    const before = await onDisk();
    edit(services({ [port]: 'default/web:80' }));
    expect(await outcome('failed')).toMatchObject({ step: 'reload' });
    expect(gateway.log()).toContain(`bind() to 0.0.0.0:${port} failed`);
    expect(await status('first')).toBe(200);
    expect(await onDisk()).toBe(before);
    server.close();
    await gateway.settled();
    expect((await send({ port, host: 'any' })).status).toBe(200);
  });
});

describe('edits', () => {
  test('that come close together cost few reloads; the first one waits for nothing', async () => {
    const second = 1_000;
    await start({ delivery: { minIntervalMs: second } });
    const begin = performance.now();
    await gateway.apply(site('site-0'));
    expect(await status('site-0')).toBe(200);
    for (let index = 1; index <= 20; index++) {
      edit(site(`site-${index}`));
      // As they come from an API server: each in a pass of its own.
      await delay(20);
    }
    await gateway.settled();
    expect(await status('site-20')).toBe(200);
    // One for the first edit; the others come in one for each begun second.
    const loads = kinds().filter((kind) => kind === 'loaded').length - 1;
    expect(loads).toBeGreaterThanOrEqual(2);
    expect(loads).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - begin) / second));
  });

  test('of endpoints do not wait for a reload that has to wait', async () => {
    await start({ delivery: { minIntervalMs: 60_000 } });
    edit(site('second'));
    edit(other.slice('web', { suffix: 'pod' }));
    await eventually('the other pod', async () => (await podOf('first')) === 'other-pod');
    expect(await status('second')).toBe(404);
    expect(kinds()).toEqual(['loaded']);
  });

  test('that take a Service out of use leave its endpoints to the configuration that still uses it', async () => {
    await start({ delivery: { minIntervalMs: 500 } });
    edit(site('first', 'other:80'));
    const seen = new Set<unknown>();
    while (kinds().length < 2) seen.add(await podOf('first'));
    await gateway.settled();
    seen.add(await podOf('first'));
    expect([...seen]).toEqual(['pod', 'other-pod']);
  });

  test('that come to nothing cost nothing', async () => {
    await start({ delivery: { minIntervalMs: 300 } });
    edit(site('second'));
    await delay(20);
    edit(ingress({ name: 'second', className: 'foreign' }));
    await gateway.settled();
    expect(kinds().filter((kind) => kind === 'loaded')).toHaveLength(1);
  });
});

test('certificates without Lua are files that only their user can read, and go with what names them', async () => {
  const pairs = await Promise.all([makePair(['first.example.com']), makePair(['first.example.com'])]);
  await start({ lua: false });
  const folder = join(gateway.folder, 'certificates');
  const secured = ingress({
    name: 'first',
    rules: [{ host: 'first.example.com', paths: [{ service: 'web:80' }] }],
    tls: [{ hosts: ['first.example.com'], secretName: 'own' }],
  });
  await gateway.apply(secured, tlsSecret('own', pairs[0]!));
  const before = await readdir(folder);
  expect(before).toHaveLength(2);
  for (const file of before) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  await gateway.apply(tlsSecret('own', pairs[1]!));
  const after = await readdir(folder);
  expect(after).toHaveLength(2);
  expect(after.filter((file) => before.includes(file))).toHaveLength(1);
  await gateway.remove('Secret', 'own');
  expect(await readdir(folder)).toHaveLength(1);
  expect((await stat(gateway.folder)).mode & 0o777).toBe(0o700);
});
