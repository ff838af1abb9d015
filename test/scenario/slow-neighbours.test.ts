/**
 * External names whose name server never answers delay nobody else: each new host, with a Service of its own, is served within
 * half a second of its write, whenever the silent names came.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { changesOf, type Gateway, poll, startGateway } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { externalName, ingress, type Manifest, service } from '../support/manifests.ts';

const NEW_HOSTS = 20;
/** Part of what is promised, so time is asserted here. */
const SERVED_WITHIN_MS = 500;

let dns: DnsServer;
let backend: Backend;
let gateway: Gateway | undefined;

beforeAll(async () => {
  dns = await startDnsServer();
  backend = await startBackend('web');
});
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});
afterAll(async () => {
  await Promise.all([dns?.close(), backend?.close()]);
});

async function start(...manifests: readonly Manifest[]): Promise<Gateway> {
  gateway = await startGateway({ emit: { dnsServers: [dns.address] }, manifests });
  return gateway;
}

function silentNames(count: number, prefix: string): Manifest[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `${prefix}-${index}`;
    dns.set(`${name}.internal`, 'silent');
    return [
      externalName(name, `${name}.internal`),
      ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
    ];
  }).flat();
}

/** Envoy has asked the server, and waits for it. */
async function asked(...names: readonly string[]): Promise<void> {
  await poll(
    () => names.every((name) => dns.questions.includes(`${name}.internal`)),
    () => `not every name was asked for: ${dns.questions.join(', ')}`,
  );
}

function tenant(name: string): Manifest[] {
  return [
    service(name),
    backend.slice(name),
    ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
  ];
}

/** Milliseconds from the write until the backend answers. */
async function timeUntilServed(to: Gateway, name: string): Promise<number> {
  const begin = performance.now();
  to.change(changesOf(tenant(name)));
  let seen: number | undefined;
  await poll(
    async () => {
      seen = (await send({ port: to.httpPort, host: `${name}.example.com` })).status;
      return seen === 200;
    },
    () => `${name} answers ${seen}`,
  );
  return performance.now() - begin;
}

/** Adds hosts one after another. Those that took too long, with their times. */
async function lateHosts(to: Gateway): Promise<string[]> {
  const late: string[] = [];
  for (let index = 0; index < NEW_HOSTS; index++) {
    const name = `new-${index}`;
    const elapsed = await timeUntilServed(to, name);
    if (elapsed >= SERVED_WITHIN_MS) late.push(`${name} after ${Math.round(elapsed)} ms`);
  }
  return late;
}

function gateTimeouts({ events }: Gateway): number {
  return events.filter(({ kind }) => kind === 'gateTimeout').length;
}

test('a silent name that comes while the proxy serves', async () => {
  const running = await start(...tenant('first'));
  await running.apply(...silentNames(1, 'later'));
  await asked('later-0');
  expect(await lateHosts(running)).toEqual([]);
  expect(gateTimeouts(running)).toBe(0);
});

test('a silent name that is there when the proxy starts', async () => {
  const running = await start(...tenant('first'), ...silentNames(1, 'early'));
  await asked('early-0');
  expect((await send({ port: running.httpPort, host: 'first.example.com' })).status).toBe(200);
  expect(await lateHosts(running)).toEqual([]);
  expect(gateTimeouts(running)).toBe(0);
});

test('nothing but a silent name when the proxy starts', async () => {
  const running = await start(...silentNames(1, 'only'));
  await asked('only-0');
  expect(await lateHosts(running)).toEqual([]);
});

test('five silent names at once', async () => {
  const running = await start(...tenant('first'));
  running.change(changesOf(silentNames(5, 'many')));
  expect(await timeUntilServed(running, 'beside')).toBeLessThan(SERVED_WITHIN_MS);
  await asked('many-0', 'many-1', 'many-2', 'many-3', 'many-4');
  expect(await lateHosts(running)).toEqual([]);
});

test('a silent name before each new host', async () => {
  const running = await start(...tenant('first'));
  const late: string[] = [];
  for (let index = 0; index < NEW_HOSTS; index++) {
    running.change(changesOf(silentNames(1, `before-${index}`)));
    const elapsed = await timeUntilServed(running, `after-${index}`);
    if (elapsed >= SERVED_WITHIN_MS) late.push(`after-${index} after ${Math.round(elapsed)} ms`);
  }
  expect(late).toEqual([]);
  expect(gateTimeouts(running)).toBe(0);
});

test('a name that falls silent after it has been resolved', async () => {
  dns.set('falling.internal', { addresses: ['127.0.0.1'] });
  const running = await start(
    ...tenant('first'),
    externalName('falling', 'falling.internal', backend.port),
    ingress({
      name: 'falling',
      rules: [{ host: 'falling.example.com', paths: [{ service: `falling:${backend.port}` }] }],
    }),
  );
  const status = async () => (await send({ port: running.httpPort, host: 'falling.example.com' })).status;
  await poll(
    async () => (await status()) === 200,
    () => 'the name was not resolved',
  );
  dns.set('falling.internal', 'silent');
  const questions = dns.questions.length;
  await poll(
    () => dns.questions.length > questions,
    () => 'the name was not asked for again',
  );
  expect(await lateHosts(running)).toEqual([]);
  // The addresses that were known stay.
  expect(await status()).toBe(200);
});
