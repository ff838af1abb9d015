/** `certs`, `serve` and `bootstrap` together: a real Envoy over mutual TLS, renewals under traffic, and who is refused. */
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { issueLeaf, type KeyPair, makeAuthority } from '../../src/cli/certificate-authority.ts';
import { type CertificateKeeper, keepInFolder } from '../../src/cli/certificate-keeper.ts';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { DEFAULT_CLIENT } from '../../src/cli/xds-tls.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import { type Command, runCommand, startCommand } from '../support/command.ts';
import { type Edge, startEdge } from '../support/edge.ts';
import { poll } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { startProbe } from '../support/probe.ts';
import { freePorts } from '../support/static-envoy.ts';

// Each test starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const HOST = 'shop.example.com';
const OTHER_HOST = 'blog.example.com';
/** How much the probe sends around each step: enough to meet a gap. */
const REQUESTS_PER_STEP = 100;

let folder: string;
let pki: string;
let keeper: CertificateKeeper;
let echo: Echo;
let ports: { readonly http: number; readonly https: number; readonly health: number };
const started: Command[] = [];
const edges: Edge[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mutual-tls-test-'));
  pki = join(folder, 'pki');
  keeper = keepInFolder(pki);
  await mkdir(join(folder, 'manifests'));
  echo = createEcho(echoPair);
  const [http = 0, https = 0, health = 0] = await freePorts(3);
  ports = { http, https, health };
  await write('world', await world());
});
afterEach(async () => {
  await Promise.all(edges.splice(0).map((edge) => edge.stop()));
  await Promise.all(started.splice(0).map((command) => command.kill()));
  await echo.close();
  await rm(folder, { recursive: true, force: true });
});

async function world(): Promise<Manifest[]> {
  const namespaces = { default: HOST, blog: OTHER_HOST };
  const parts = Object.entries(namespaces).map(async ([namespace, host]) => {
    const [pod] = (await echo.ensure([{ namespace, service: 'web', port: '80' }])).values();
    const paths = [{ service: 'web:80' }];
    const secure = `secure.${host}`;
    return [
      ingress({ name: 'web', namespace, rules: [{ host, paths }] }),
      ingress({
        name: 'secure',
        namespace,
        rules: [{ host: secure, paths }],
        tls: [{ hosts: [secure], secretName: 'tls' }],
      }),
      service('web', [{ port: 80 }], namespace),
      endpointSlice('web', [pod!.ip], { port: pod!.port, namespace }),
      tlsSecret('tls', await makePair([secure]), namespace),
    ];
  });
  return (await Promise.all(parts)).flat();
}

function write(name: string, objects: readonly Manifest[]): Promise<void> {
  const text = JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects });
  return writeFile(join(folder, 'manifests', `${name}.json`), text);
}

async function makeCertificates(...flags: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(['certs', '--out', pki, ...flags]);
  if (code !== 0) throw new Error(output);
}

/** The files of a leaf as flags. */
function files(leaf: string): string[] {
  const path = (name: string) => join(pki, leaf, name);
  return ['--xds-certificate', path('tls.crt'), '--xds-key', path('tls.key'), '--xds-ca', path('ca.crt')];
}

function serveArguments(...flags: readonly string[]): string[] {
  const { http, https, health } = ports;
  const numbers = ['--http-port', http, '--https-port', https, '--healthz-port', health].map(String);
  const source = ['--manifests', join(folder, 'manifests')];
  return ['serve', ...source, ...numbers, '--healthz-host', '127.0.0.1', ...flags];
}

async function startServe(...flags: readonly string[]): Promise<{ command: Command; address: string }> {
  const command = startCommand(serveArguments('--xds-address', '127.0.0.1:0', ...files('server'), ...flags));
  started.push(command);
  const [, address = ''] = await command.printed(/serving xDS on (\S+)/);
  return { command, address };
}

async function connectEdge(address: string, client = DEFAULT_CLIENT, ...flags: readonly string[]): Promise<Edge> {
  const secrets = ['--xds-secrets', join(folder, `secrets-of-${client}`)];
  const edge = await startEdge(address, (bootstrap) => bootstrap, [
    ...files(`clients/${client}`),
    ...secrets,
    ...flags,
  ]);
  edges.push(edge);
  return edge;
}

function status(host: string, tls: boolean): Promise<number | undefined> {
  const port = tls ? ports.https : ports.http;
  return send({ port, host, tls }).then(
    (answer) => answer.status,
    () => undefined,
  );
}

function serves(host: string, tls: boolean, log: () => string): Promise<void> {
  return poll(
    async () => (await status(host, tls)) === 200,
    () => `${host} is not served:\n${log()}`,
  );
}

test.each(['gateway', 'sidecar'])('a %s with the printed bootstrap serves HTTP and HTTPS over TCP', async (role) => {
  await makeCertificates();
  const { command, address } = await startServe();
  expect(command.output()).toMatch(/mutual TLS with certificate CN=\S+ until \d{4}-.*clients: ingress-xds-proxy/);
  const edge = await connectEdge(address, DEFAULT_CLIENT, '--role', role);
  await serves(HOST, false, edge.log);
  await serves(`secure.${OTHER_HOST}`, true, edge.log);
  expect(command.output()).not.toMatch(/WARN|ERROR/);
});

test('certificates are renewed on both sides under traffic', async () => {
  await makeCertificates();
  const debug = join(folder, 'debug.sock');
  const { command, address } = await startServe('--debug-socket', debug);
  const edge = await connectEdge(address);
  await serves(HOST, true, edge.log);
  const probe = await startProbe({ httpPort: ports.http, httpsPort: ports.https, host: HOST, rate: 100 });
  const goesOn = async () => {
    const target = probe.sent() + REQUESTS_PER_STEP;
    await poll(
      () => probe.sent() >= target,
      () => 'the probe does not send',
    );
  };
  const streams = async () => {
    const { output } = await runCommand(['inspect', 'streams', '--output', 'json', '--debug-socket', debug]);
    const described = JSON.parse(output) as { id: number; client: string; upToDate: boolean }[];
    return described.map(({ id, client, upToDate }) => ({ isFirst: id === 1, client, upToDate }));
  };
  const renewals = () => command.output().match(/mutual TLS goes on with certificate/g)?.length ?? 0;
  const renewed = (count: number) =>
    poll(
      () => renewals() === count,
      () => command.output(),
    );

  await goesOn();
  await makeCertificates();
  await renewed(1);
  await goesOn();
  expect(await streams()).toEqual([{ isFirst: true, client: DEFAULT_CLIENT, upToDate: true }]);

  // A new authority: trusted first, then used, and at last the only one.
  const former = (await keeper.readAuthority())!.pair;
  const next = await makeAuthority();
  const before = await leavesOf(former);
  const after = await leavesOf(next);
  const both = former.certificate + next.certificate;
  const steps = [
    { leaves: before, ca: both },
    { leaves: after, ca: both },
    { leaves: after, ca: next.certificate },
  ];
  for (const [index, { leaves, ca }] of steps.entries()) {
    await keeper.writeLeaf({ name: DEFAULT_CLIENT, usage: 'client' }, leaves.client, ca);
    await keeper.writeLeaf({ name: 'server', usage: 'server' }, leaves.server, ca);
    await renewed(index + 2);
    await goesOn();
  }
  // What the former authority has signed is no longer good: Envoy has connected anew.
  await expect.poll(streams, { timeout: 20_000 }).toEqual([{ isFirst: false, client: DEFAULT_CLIENT, upToDate: true }]);
  await write('new', [ingress({ name: 'new', rules: [{ host: 'new.example.com', paths: [{ service: 'web:80' }] }] })]);
  await serves('new.example.com', false, edge.log);
  await goesOn();
  const { failures, closed } = await probe.stop();
  expect({ failures, closed }).toEqual({ failures: [], closed: [] });
  expect(edge.log()).not.toMatch(/KEY_VALUES_MISMATCH/);
});

async function leavesOf(authority: KeyPair, days = 1): Promise<{ server: KeyPair; client: KeyPair }> {
  return {
    server: await issueLeaf(authority, { names: ['127.0.0.1'], usage: 'server', days }),
    client: await issueLeaf(authority, { names: [DEFAULT_CLIENT], usage: 'client', days }),
  };
}

test('Envoys that may not connect get nothing, and the log says why', async () => {
  await makeCertificates('--client', DEFAULT_CLIENT, '--client', 'stranger');
  const { pair: authority } = (await keeper.readAuthority())!;
  const foreign = await leavesOf(await makeAuthority());
  const expired = await leavesOf(authority, -1 / 24 / 60);
  await keeper.writeLeaf({ name: 'foreign', usage: 'client' }, foreign.client, authority.certificate);
  await keeper.writeLeaf({ name: 'expired', usage: 'client' }, expired.client, authority.certificate);
  const { command, address } = await startServe();
  const reasons = {
    stranger: /WARN: stream of an Envoy ended: the client called stranger is not one of those that may connect/,
    foreign:
      /WARN: connection from 127\.0\.0\.1 refused: its certificate is not trusted: UNABLE_TO_VERIFY_LEAF_SIGNATURE/,
    expired:
      /WARN: connection from 127\.0\.0\.1 refused: its certificate has expired \(it claims to be "CN=ingress-xds-proxy"\)/,
  };
  for (const [client, reason] of Object.entries(reasons)) {
    const edge = await connectEdge(address, client);
    await command.printed(reason);
    expect(await status(HOST, false)).toBeUndefined();
    await edge.stop();
  }
  const { body } = await send({ port: ports.health, host: 'x', path: '/metrics' });
  const [, refusals] = /^ingress_xds_refusals_total (\d+)$/m.exec(body) ?? [];
  expect(Number(refusals)).toBeGreaterThanOrEqual(Object.keys(reasons).length);
});

test('an Envoy does not talk to a control plane of another name', async () => {
  await makeCertificates();
  const { address } = await startServe();
  const edge = await connectEdge(address, DEFAULT_CLIENT, '--xds-server-name', 'other.example.com');
  await poll(
    () => /verify_cert_failed:_SAN_matcher/.test(edge.log()),
    () => `Envoy does not complain:\n${edge.log()}`,
  );
  expect(await status(HOST, false)).toBeUndefined();
});

test.each([[[]], [['--tls-on-demand']]])('an Envoy of one namespace gets no keys of others, with %j', async (flags) => {
  await makeCertificates();
  const { command, address } = await startServe('--xds-client', `${DEFAULT_CLIENT}=default`, ...flags);
  const edge = await connectEdge(address);
  await serves(`secure.${HOST}`, true, edge.log);
  await serves(OTHER_HOST, false, edge.log);
  expect(await status(`secure.${OTHER_HOST}`, true)).toBeUndefined();
  await command.printed(/WARN: secrets of namespace blog are withheld from stream \d+ of client ingress-xds-proxy/);
  // For hosts without a certificate of their own there is that of everybody.
  if (flags.length === 0) expect(await status('unknown.example.com', true)).toBe(404);
});

test('certs keeps its authority, renews the rest, and tells nobody else', async () => {
  await makeCertificates('--client', 'edge-1', '--client', 'edge-2');
  const first = await keeper.readAuthority();
  expect(await readdir(join(pki, 'clients'))).toEqual(['edge-1', 'edge-2']);
  for (const file of ['ca.key', 'ca.crt', 'server/tls.key', 'server/tls.crt', 'clients/edge-1/tls.key']) {
    expect((await stat(join(pki, file))).mode & 0o777).toBe(0o600);
  }
  await makeCertificates('--client', 'edge-2');
  expect(await keeper.readAuthority()).toEqual(first);
  await rm(join(pki, 'ca.key'));
  const half = await runCommand(['certs', '--out', pki]);
  expect(half).toMatchObject({ code: 1, output: expect.stringContaining('ca.crt is there, but not') });
  await writeFile(join(pki, 'ca.key'), (await makeAuthority()).key);
  const wrong = await runCommand(['certs', '--out', pki]);
  expect(wrong).toMatchObject({ code: 1, output: expect.stringContaining('ca.crt: does not go with its key') });
});

test.each([
  ['certs without a place', ['certs'], 'give --out, --output=secret or --apply'],
  ['certs for no days', ['certs', '--out', 'x', '--days', '0'], '--days'],
  ['certs for a name that is none', ['certs', '--out', 'x', '--dns-name', 'a_b'], '--dns-name=a_b'],
  ['certs for a client that would leave the folder', ['certs', '--out', 'x', '--client', '../x'], '--client=../x'],
  ['certs for one client twice', ['certs', '--out', 'x', '--client', 'a', '--client', 'a'], '--client'],
  ['bootstrap with half of the files', ['bootstrap', '--xds-certificate', 'a', '--xds-ca', 'b'], '--xds-key missing'],
  [
    'bootstrap with a key elsewhere',
    ['bootstrap', '--xds-certificate', 'a/c', '--xds-key', 'b/k', '--xds-ca', 'x'],
    'in one folder',
  ],
  [
    'bootstrap with a Unix socket',
    ['bootstrap', '--xds-address', 'unix:/x', '--xds-certificate', 'c', '--xds-key', 'k', '--xds-ca', 'x'],
    'is for TCP',
  ],
  ['bootstrap with a name and no certificate', ['bootstrap', '--xds-server-name', 'x'], '--xds-server-name'],
  [
    'serve with files that are not there',
    ['serve', '--manifests', '.', '--xds-certificate', '/no/c', '--xds-key', '/no/k', '--xds-ca', '/no/a'],
    '/no/c: cannot be read: ENOENT',
  ],
  ['serve with a list and no certificate', ['serve', '--manifests', '.', '--xds-client', 'edge'], 'is for mutual TLS'],
  ['serve with a client without a name', ['serve', '--manifests', '.', '--xds-client', '=shop'], '--xds-client'],
  [
    'serve with a namespace that is none',
    ['serve', '--manifests', '.', '--xds-client', 'edge=Shop'],
    '"Shop" is no name of a namespace',
  ],
])('refuses %s, with code 2', async (_, args, message) => {
  const { code, output } = await runCommand(args);
  expect(output).toContain(message);
  expect(code).toBe(2);
});
