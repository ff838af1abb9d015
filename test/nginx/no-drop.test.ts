/** What a reload costs clients: nothing on new connections. And how often there is one: only where nothing less is enough. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import type { Address } from '../../src/model/proxy-model.ts';
import type { NginxConfig } from '../../src/nginx/config.ts';
import { isDynamicConfigurationEnough } from '../../src/nginx/dynamic.ts';
import { builtInTemplate } from '../../src/nginx/template-files.ts';
import { changesOf } from '../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { KEPT_CONNECTIONS, type Load, startLoad } from './support/load.ts';

const EDITS = 300;
const NEIGHBOURS = 10;
/** Requests per second. */
const RATE = 300;

let echo: Echo;
let pods: readonly Address[];
let pairs: readonly Pair[];
let gateway: NginxGateway;
let load: Load;
/** Every configuration that was asked for. */
let wanted: NginxConfig[];

beforeAll(async () => {
  echo = createEcho(echoPair);
  const refs = Array.from({ length: 8 }, (_, pod) => ({ namespace: 'default', service: 'own', port: String(pod) }));
  pods = [...(await echo.ensure(refs)).values()];
  pairs = await Promise.all(Array.from({ length: 4 }, () => makePair(['*.tenant.example.com'])));
});
afterAll(() => echo.close());

beforeEach(async () => {
  wanted = [];
  const { render } = builtInTemplate();
  const template = () => ({
    render: (config: NginxConfig) => {
      wanted.push(config);
      return render(config);
    },
  });
  gateway = await startNginxGateway({
    manifests: [
      ingress({ name: 'own', rules: [{ host: 'own.example.com', paths: [{ service: 'own:80' }] }] }),
      service('own'),
      podSlice(0),
      ...Array.from({ length: NEIGHBOURS }, (_, index) => neighbour(index)).flat(),
      tlsSecret('shared', pairs[0]!),
    ],
    delivery: { template },
  });
  const { httpPort, httpsPort } = gateway;
  load = startLoad({ httpPort, httpsPort, host: 'own.example.com', rate: RATE });
});
afterEach(() => gateway.close());

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

function neighbour(index: number, variation: Variation = {}): Manifest[] {
  const { path = '/', secret, port = 80, address = '127.0.0.1' } = variation;
  const host = `n${index}.tenant.example.com`;
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

/** A small generator of numbers, so that a failure can be seen again. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function reloads(): number {
  return gateway.outcomes.filter(({ kind }) => kind === 'loaded').length - 1;
}

async function expectNothingLost(minRequests: number): Promise<void> {
  const { requests, failures, closedUnused } = await load.stop();
  console.log(`${requests} requests, ${reloads()} reloads, ${closedUnused} kept connections closed before a request`);
  expect(failures).toEqual([]);
  expect(requests).toBeGreaterThanOrEqual(minRequests);
  // Old workers close idle connections; how often a client sends in this very moment depends on how busy the machine is.
  expect(closedUnused).toBeLessThanOrEqual(reloads() * KEPT_CONNECTIONS);
}

test(`${EDITS} random edits, one at a time`, { timeout: 600_000 }, async () => {
  const random = createRandom(20_261_129);
  const before = gateway.outcomes.length;
  for (let edit = 0; edit < EDITS; edit++) {
    const index = random(NEIGHBOURS);
    const kind = random(8);
    if (kind === 0) await gateway.apply(...neighbour(index, { path: `/p${edit}` }));
    else if (kind === 1) await gateway.apply(...neighbour(index, { address: `127.0.0.${2 + random(200)}` }));
    else if (kind === 2) await gateway.apply(tlsSecret('shared', pairs[random(4)]!));
    else if (kind === 3) await gateway.apply(...neighbour(index, { secret: 'shared' }));
    else if (kind === 4) await gateway.apply(...neighbour(index, { secret: `own-${index}` }));
    else if (kind === 5) await gateway.apply(tlsSecret(`own-${index}`, pairs[random(4)]!));
    else if (kind === 6) await gateway.apply(...neighbour(index, { port: 80 + random(3) }));
    else await gateway.remove('Ingress', `n${index}`);
  }
  const needed = wanted.filter((config, index) => !isDynamicConfigurationEnough(wanted[index - 1], config)).length - 1;
  expect(gateway.outcomes.slice(before).filter(({ kind }) => kind !== 'loaded')).toEqual([]);
  expect(reloads()).toBe(needed);
  expect(needed).toBeGreaterThan(EDITS / 10);
  expect(needed).toBeLessThan(EDITS);
  await expectNothingLost(RATE * 10);
});

test('edits of endpoints only: no reload at all', { timeout: 120_000 }, async () => {
  for (let pod = 1; pod <= 50; pod++) {
    await gateway.apply(podSlice(pod, 'new'));
    await gateway.apply(podSlice(pod));
    await gateway.remove('EndpointSlice', 'own-new');
  }
  expect(reloads()).toBe(0);
  await expectNothingLost(1);
});

test('edits that come faster than nginx loads cost fewer reloads than they are', { timeout: 120_000 }, async () => {
  const random = createRandom(7);
  for (let edit = 0; edit < 100; edit++) {
    gateway.change(changesOf(neighbour(random(NEIGHBOURS), { path: `/p${edit}` })));
    await delay(5);
  }
  await gateway.settled();
  expect(reloads()).toBeGreaterThan(0);
  expect(reloads()).toBeLessThan(100);
  await expectNothingLost(1);
});
