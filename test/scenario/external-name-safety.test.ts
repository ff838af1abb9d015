/**
 * An external name that resolves to 127.0.0.1 leads a tenant's requests to whatever listens on the proxy's own machine. So
 * nothing that knows a private key, or that administers the proxy, listens on TCP.
 */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { credentials, Client as GrpcClient } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { type Gateway, poll, startGateway } from '../support/gateway.ts';
import { type RunningCommand, startRun } from '../support/hostile/run-command.ts';
import { listeningTcpPorts, unixSocketNames } from '../support/hostile/sockets.ts';
import { type Answer, send, sendHttp2 } from '../support/http-client.ts';
import { externalName, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { encodeRequest, SDS } from '../xds/support.ts';

/** What Envoy's admin interface, debug pages and the xDS server would answer to. */
const PATHS = [
  '/',
  '/certs',
  '/clusters',
  '/config_dump',
  '/config_dump?include_eds',
  '/debug',
  '/debug/held',
  '/debug/pprof/',
  '/help',
  '/init_dump',
  '/listeners',
  '/memory',
  '/runtime',
  '/server_info',
  '/stats',
  '/stats/prometheus',
  '/v3/discovery:secrets',
];
const ADMIN_ACTIONS = ['/quitquitquit', '/drain_listeners', '/healthcheck/fail', '/logging?level=trace'];
const GRPC_METHODS = [
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
  '/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets',
  '/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets',
];
const SECRET = 'default/victim';

/** The process tree whose ports are tried. */
let victim: RunningCommand;
/** A proxy on the same machine, as the tenant sees it: its requests come from loopback. */
let tenant: Gateway;
let dns: DnsServer;
let pair: Pair;
let folder: string;
let ports: number[];

beforeAll(async () => {
  pair = await makePair(['victim.example.com']);
  folder = await mkdtemp(join(tmpdir(), 'safety-'));
  const manifests = [
    service('web'),
    tlsSecret('victim', pair),
    ingress({
      name: 'victim',
      rules: [{ host: 'victim.example.com', paths: [{}] }],
      tls: [{ hosts: ['victim.example.com'], secretName: 'victim' }],
    }),
  ];
  await writeFile(join(folder, 'victim.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
  victim = await startRun(folder);
  ports = listeningTcpPorts(victim.processes());
  dns = await startDnsServer();
  dns.set('inside.internal', { addresses: ['127.0.0.1'] });
  tenant = await startGateway({
    emit: { dnsServers: [dns.address] },
    manifests: [...ports, victim.healthPort].flatMap(inside),
  });
});
afterAll(async () => {
  await tenant?.close();
  await Promise.all([victim?.close(), dns?.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** What a tenant would write to reach this port. */
function inside(port: number): Manifest[] {
  return [
    externalName(`port-${port}`, 'inside.internal', port),
    ingress({ name: `port-${port}`, rules: [{ host: hostOf(port), paths: [{ service: `port-${port}:${port}` }] }] }),
  ];
}

function hostOf(port: number): string {
  return `port-${port}.example.com`;
}

/** Through the tenant's proxy, over HTTP/1.1 and over HTTP/2. */
async function askThroughProxy(port: number, path: string, method = 'GET'): Promise<Answer[]> {
  return [
    await send({ port: tenant.httpPort, host: hostOf(port), path, method }),
    await sendHttp2({ port: tenant.httpsPort, host: hostOf(port), path, method }),
  ];
}

/** Everything that a gRPC server answers to a request for the secret, as text; ends with the status. */
async function askForSecret(address: string, method: string): Promise<string> {
  const client = new GrpcClient(address, credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(method, same, same, { deadline: Date.now() + 5_000 });
  let received = '';
  const { promise, resolve } = Promise.withResolvers<string>();
  call.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1');
    call.cancel();
  });
  call.on('error', () => {});
  call.on('status', ({ code }) => resolve(`${received} status ${code}`));
  call.write(encodeRequest({ node: { id: 'tenant' }, typeUrl: SDS, resourceNamesSubscribe: [SECRET] }));
  const all = await promise;
  client.close();
  return all;
}

function askAdmin(socketPath: string, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  request({ socketPath, path }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    response.on('end', () => resolve(body));
  })
    .on('error', reject)
    .end();
  return promise;
}

function socketNamed(name: string): string {
  return unixSocketNames(victim.processes()).find((path) => path.endsWith(`/${name}`)) ?? '';
}

/** A line of the key: what would tell that it got out. */
function keyLine(): string {
  return pair.key.split('\n')[1] ?? '';
}

describe('what is tried here works where it may', () => {
  test('the Unix socket of the control plane hands out the key', async () => {
    const answer = await askForSecret(`unix:${socketNamed('xds.sock')}`, GRPC_METHODS[0] ?? '');
    expect(answer).toContain(keyLine());
  });

  test('the Unix socket of the admin interface shows the configuration', async () => {
    expect(await askAdmin(socketNamed('admin.sock'), '/config_dump')).toContain('victim.example.com');
  });

  test('the tenant reaches the ports of the victim', async () => {
    await poll(
      async () =>
        (await send({ port: tenant.httpPort, host: hostOf(victim.healthPort), path: '/healthz' })).status === 200,
      () => 'the health port was not reached',
    );
  });
});

describe('the process tree', () => {
  test('listens on TCP for the proxy, and for health and metrics', () => {
    expect(ports).toEqual([victim.httpPort, victim.httpsPort, victim.healthPort].sort((a, b) => a - b));
  });

  test('has no Unix socket but those in a folder of its own, for its user alone', async () => {
    const names = unixSocketNames(victim.processes());
    expect(names.map((name) => name.slice(name.lastIndexOf('/') + 1))).toEqual([
      'admin.sock',
      'alive.sock',
      'debug.sock',
      'xds.sock',
    ]);
    for (const name of names) expect((await stat(name)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(names[0] ?? ''))).mode & 0o777).toBe(0o700);
  });
});

describe('through the proxy', () => {
  test('no port answers as the admin interface, the debug pages or the xDS server', async () => {
    const found: string[] = [];
    for (const port of ports) {
      for (const path of PATHS) {
        for (const { status, body } of await askThroughProxy(port, path)) {
          if (status < 400 || /PRIVATE KEY|"configs"|serial_number/.test(body)) {
            found.push(`${port} ${path}: ${status} ${body.slice(0, 100)}`);
          }
        }
      }
    }
    expect(found).toEqual([]);
  });

  test.each(ADMIN_ACTIONS)('%s acts on nothing', async (path) => {
    for (const port of ports) {
      for (const { status } of await askThroughProxy(port, path, 'POST')) expect(status).toBeGreaterThanOrEqual(400);
    }
    expect((await send({ port: victim.healthPort, host: 'localhost', path: '/readyz' })).status).toBe(200);
  });

  test('health and metrics show no key and no certificate', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const [answer] = await askThroughProxy(victim.healthPort, path);
      expect(answer?.status).toBe(200);
      expect(answer?.body).not.toContain(keyLine());
      expect(answer?.body).not.toMatch(/BEGIN|victim/);
    }
  });
});

describe('without a proxy between', () => {
  test.each(GRPC_METHODS)('no TCP port serves %s', async (method) => {
    for (const port of ports) {
      const answer = await askForSecret(`127.0.0.1:${port}`, method);
      expect(answer).not.toContain(keyLine());
      // Nothing but a status, and that is not OK.
      expect(answer).toMatch(/^ status [1-9]\d*$/);
    }
  });
});

/** A request whose client goes away as soon as `done` holds. */
async function askUntil(host: string, done: () => Promise<boolean>): Promise<void> {
  const outgoing = request({ host: '127.0.0.1', port: tenant.httpPort, headers: { host }, agent: false });
  outgoing.on('error', () => {});
  outgoing.end();
  await poll(done, () => 'the request did not come far');
  outgoing.destroy();
}

describe('an external name that leads the proxy to itself', () => {
  // Each turn is a request of its own, to a proxy that cannot tell it from others.
  test('goes round no longer than its client waits, and the others are served meanwhile', async () => {
    await tenant.apply(...inside(tenant.httpPort));
    const requests = async () => (await tenant.admin.traffic()).requests;
    const before = await requests();
    await askUntil(hostOf(tenant.httpPort), async () => {
      const { status } = await send({ port: tenant.httpPort, host: hostOf(victim.healthPort), path: '/healthz' });
      expect(status).toBe(200);
      return (await requests()) > before + 50;
    });
    await poll(
      async () => (await requests()) <= before + 10,
      () => 'the request still goes round',
    );
  });
});
