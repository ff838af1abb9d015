/** No reload, no drop: a change fails no request and closes no connection that it does not concern. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import type { Address } from '../../src/model/proxy-model.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { type Probe, type ProbeReport, startProbe } from '../support/probe.ts';

const RATE = 400;
/** The changes go on until so much was sent, however slow the machine is. */
const MIN_REQUESTS = 2_000;
const NEIGHBOURS = 10;
const EDITS = 100;

let echo: Echo;
let pods: readonly Address[];
let pairs: readonly Pair[];
let gateway: Gateway;
let probe: Probe;

beforeAll(async () => {
  echo = createEcho(echoPair);
  const refs = Array.from({ length: 8 }, (_, pod) => ({ namespace: 'default', service: 'own', port: String(pod) }));
  pods = [...(await echo.ensure(refs)).values()];
  pairs = await Promise.all(
    Array.from({ length: 4 }, (_, index) => makePair([`*.tenant-${index}.example.com`, '*.tenant-1.example.com'])),
  );
});
afterAll(() => echo.close());

beforeEach(async () => {
  gateway = await startGateway({
    drainTimeS: 5,
    manifests: [
      ...own(),
      podSlice(0),
      ...Array.from({ length: NEIGHBOURS }, (_, index) => neighbour(index, {})).flat(),
      tlsSecret('neighbour', pairs[1]!),
    ],
  });
  probe = await startProbe({
    httpPort: gateway.httpPort,
    httpsPort: gateway.httpsPort,
    host: 'own.example.com',
    rate: RATE,
  });
});
afterEach(() => gateway.close());

/** The host under load has no redirect, so that it answers on both ports; its certificate is the default one. */
function own(): Manifest[] {
  return [
    ingress({ name: 'own', rules: [{ host: 'own.example.com', paths: [{ service: 'own:80' }] }] }),
    service('own'),
  ];
}

function podSlice(pod: number, suffix = 'only'): Manifest {
  const { ip, port } = pods[pod % pods.length]!;
  return endpointSlice('own', [ip], { port, suffix });
}

interface Variation {
  readonly path?: string;
  readonly secret?: string;
  readonly port?: number;
  readonly address?: string;
}

function neighbour(index: number, { path = '/', secret, port = 80, address = '127.0.0.1' }: Variation): Manifest[] {
  const host = `n${index}.tenant-1.example.com`;
  return [
    ingress({
      name: `n${index}`,
      rules: [{ host, paths: [{ path, service: `n${index}:${port}` }] }],
      ...(secret && { tls: [{ hosts: [host], secretName: secret }] }),
    }),
    service(`n${index}`, [{ port }]),
    endpointSlice(`n${index}`, [address], { port: pods[0]!.port }),
  ];
}

function expectNothingLost(report: ProbeReport): void {
  expect(report.failures).toEqual([]);
  expect(report.closed).toEqual([]);
  expect(report.requests).toBeGreaterThanOrEqual(MIN_REQUESTS);
  expect(report.messages).toBeGreaterThan(0);
  console.log(`${report.requests} requests, ${Math.round(report.requests / report.seconds)} per second, none lost`);
}

/** A small generator of numbers, so that a failure can be seen again. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test(`${EDITS} edits of other hosts, Services, endpoints and certificates`, { timeout: 120_000 }, async () => {
  const random = createRandom(20_261_129);
  for (let edit = 0; edit < EDITS || probe.sent() < MIN_REQUESTS; edit++) {
    const index = random(NEIGHBOURS);
    const kind = random(7);
    if (kind === 0) await gateway.apply(...neighbour(index, { path: `/p${edit}` }));
    else if (kind === 1) await gateway.apply(...neighbour(index, { address: `127.0.0.${2 + random(200)}` }));
    else if (kind === 2) await gateway.apply(tlsSecret('neighbour', pairs[1 + random(3)]!));
    else if (kind === 3)
      await gateway.apply(...neighbour(index, { secret: random(2) === 0 ? 'neighbour' : `own-${index}` }));
    else if (kind === 4) await gateway.apply(tlsSecret(`own-${index}`, pairs[random(4)]!));
    else if (kind === 5) await gateway.apply(...neighbour(index, { port: 80 + random(3) }));
    else await gateway.remove('Ingress', `n${index}`);
  }
  expectNothingLost(await probe.stop());
});

test('the endpoints of its own Service, replaced one after another', { timeout: 120_000 }, async () => {
  for (let pod = 1; pod <= 40 || probe.sent() < MIN_REQUESTS; pod++) {
    await gateway.apply(podSlice(pod, 'new'));
    await gateway.apply(podSlice(pod));
    await gateway.remove('EndpointSlice', 'own-new');
  }
  const report = await probe.stop();
  expectNothingLost(report);
});
