/**
 * Two control planes behind one address, with the same manifests in another order: a proxy that moves from one to the other
 * fails no request, and gets nothing that it has.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, connect as netConnect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import { type Command, startCommand } from '../support/command.ts';
import { type Edge, startEdge } from '../support/edge.ts';
import { poll } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { startProbe } from '../support/probe.ts';
import { freePorts } from '../support/static-envoy.ts';

vi.setConfig({ testTimeout: 240_000 });

const HOST = 'shop.example.com';
const MOVES = 3;
/** How much the probe sends around each move: enough to meet a gap. */
const REQUESTS_PER_PHASE = 100;

interface ControlPlane {
  readonly command: Command;
  readonly socket: string;
  readonly healthPort: number;
}

let folder: string;
let echo: Echo;
let forwarder: Forwarder;
let edge: Edge | undefined;
const started: Command[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moving-test-'));
  echo = createEcho(echoPair);
});
afterEach(async () => {
  await edge?.stop();
  await Promise.all(started.splice(0).map((command) => command.kill()));
  await forwarder.close();
  await echo.close();
  await rm(folder, { recursive: true, force: true });
});

/** One address in front of several: connections go where `lead` pointed last, and those to elsewhere end. */
interface Forwarder {
  lead(socketPath: string): void;
  close(): Promise<void>;
}

async function startForwarder(path: string, first: string): Promise<Forwarder> {
  let target = first;
  const open = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = netConnect(target);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    lead: (socketPath) => {
      target = socketPath;
      cut();
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

async function world(): Promise<Manifest[]> {
  const [pod] = (await echo.ensure([{ namespace: 'default', service: 'web', port: '80' }])).values();
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
  return [
    ingress({ name: 'web', rules: [{ host: HOST, paths: [{ service: 'web:80' }] }] }),
    service('web'),
    endpointSlice('web', [pod!.ip], { port: pod!.port }),
    tlsSecret('default-cert', await makePair(['default.example.com'])),
    tlsSecret('tls', await makePair(['*.example.com'])),
    ...names.flatMap((name, index) => [
      ingress({
        name,
        rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }, { path: '/x', service: 'web:80' }] }],
        ...(index % 2 === 0 && { tls: [{ hosts: [`${name}.example.com`], secretName: 'tls' }] }),
      }),
      service(name),
      endpointSlice(name, ['127.0.0.1', '127.0.0.2']),
    ]),
  ];
}

async function startControlPlane(
  name: string,
  objects: readonly Manifest[],
  flags: readonly string[],
): Promise<ControlPlane> {
  const manifests = join(folder, name);
  const socket = join(folder, `${name}.sock`);
  const [healthPort = 0] = await freePorts(1);
  await mkdir(manifests);
  // One file each, so that the order of files is that of objects.
  for (const [index, object] of objects.entries()) {
    await writeFile(join(manifests, `${String(index).padStart(3, '0')}.json`), JSON.stringify(object));
  }
  const source = ['--manifests', manifests, '--default-ssl-certificate', 'default/default-cert'];
  const listening = ['--xds-address', `unix:${socket}`, '--healthz-port', String(healthPort)];
  const command = startCommand(['serve', ...source, ...listening, '--healthz-host', '127.0.0.1', ...flags]);
  started.push(command);
  await command.printed(/serving xDS on/);
  return { command, socket, healthPort };
}

/** Sum of a metric over its labels. */
async function total({ healthPort }: ControlPlane, name: string, type = '\\w+'): Promise<number> {
  const { body } = await send({ port: healthPort, host: 'x', path: '/metrics' });
  const lines = body.matchAll(new RegExp(`^ingress_xds_${name}\\{type="${type}"\\} (\\d+)$`, 'gm'));
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
}

const sent = async (plane: ControlPlane) =>
  (await total(plane, 'resources_sent_total')) + (await total(plane, 'removals_sent_total'));

const acks = async (plane: ControlPlane) => ({
  clusters: await total(plane, 'acks_total', 'Cluster'),
  listeners: await total(plane, 'acks_total', 'Listener'),
});

test('a proxy that moves between control planes gets nothing twice and fails no request', async () => {
  const objects = await world();
  const [http = 0, https = 0] = await freePorts(2);
  const flags = ['--http-port', String(http), '--https-port', String(https)];
  const planes = await Promise.all([
    startControlPlane('one', objects, flags),
    startControlPlane('other', objects.toReversed(), flags),
  ]);
  const [one, other] = planes;
  const address = join(folder, 'xds.sock');
  forwarder = await startForwarder(address, one.socket);
  edge = await startEdge(`unix:${address}`);
  await poll(
    async () => (await send({ port: http, host: HOST }).catch(() => undefined))?.status === 200,
    () => `nothing is served:\n${edge?.log()}`,
  );
  const probe = await startProbe({ httpPort: http, httpsPort: https, host: HOST, rate: 200 });
  const moreRequests = async () => {
    const target = probe.sent() + REQUESTS_PER_PHASE;
    await poll(
      () => probe.sent() >= target,
      () => 'the probe does not send',
    );
  };
  await moreRequests();
  const sentAtFirst = await sent(one);
  expect(sentAtFirst).toBeGreaterThan(objects.length / 2);

  for (let move = 1; move <= MOVES; move++) {
    const to = move % 2 === 1 ? other : one;
    const before = await acks(to);
    forwarder.lead(to.socket);
    await poll(
      async () => {
        const now = await acks(to);
        return now.clusters > before.clusters && now.listeners > before.listeners;
      },
      () => `the proxy did not move:\n${edge?.log()}`,
    );
    await moreRequests();
  }

  expect(await sent(one)).toBe(sentAtFirst);
  expect(await sent(other)).toBe(0);
  const { failures, closed } = await probe.stop();
  expect({ failures, closed }).toEqual({ failures: [], closed: [] });

  // It follows the one that it has moved to.
  const added = ingress({ name: 'new', rules: [{ host: 'new.example.com', paths: [{ service: 'web:80' }] }] });
  await writeFile(join(folder, 'other', 'new.json'), JSON.stringify(added));
  await poll(
    async () => (await send({ port: http, host: 'new.example.com' })).status === 200,
    () => `the new host is not served:\n${edge?.log()}`,
  );
});
