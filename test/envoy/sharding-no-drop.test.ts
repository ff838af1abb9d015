/** Shards are divided and joined, and what stands in them changes, while requests go on: none may fail. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { hostKey } from '../../src/envoy/parity-hash.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import { changesOf, type Gateway, startGateway } from '../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service } from '../support/manifests.ts';
import { type Probe, startProbe } from '../support/probe.ts';

const RATE = 300;
const MIN_REQUESTS = 3_000;
const OWN = 'own.example.com';
/** The number of other hosts goes up and down: from one shard to sixteen or so. */
const SIZES = [100, 140, 270, 1100, 500, 1100, 250, 120, 130, 60, 700, 40];
const EDITS_PER_SIZE = 5;

let echo: Echo;
let gateway: Gateway;
let probe: Probe;

beforeEach(async () => {
  echo = createEcho(echoPair);
  const [address] = (await echo.ensure([{ namespace: 'default', service: 'own', port: '80' }])).values();
  gateway = await startGateway({
    emit: { routeSharding: true },
    concurrency: 2,
    drainTimeS: 5,
    manifests: [
      ingress({ name: 'own', rules: [{ host: OWN, paths: [{ service: 'own:80' }] }] }),
      service('own'),
      endpointSlice('own', [address!.ip], { port: address!.port }),
      ...Array.from({ length: SIZES[0]! }, (_, index) => other(index)),
    ],
  });
  probe = await startProbe({ httpPort: gateway.httpPort, httpsPort: gateway.httpsPort, host: OWN, rate: RATE });
});
afterEach(async () => {
  await gateway?.close();
  await echo?.close();
});

function other(index: number, path = '/'): Manifest {
  return ingress({
    name: `other-${index}`,
    rules: [{ host: `h${index}.example.com`, paths: [{ path, service: 'own:80' }] }],
  });
}

function wildcard(path: string): Manifest {
  return ingress({ name: 'wildcard', rules: [{ host: '*.example.com', paths: [{ path, service: 'own:80' }] }] });
}

async function resize(from: number, to: number): Promise<void> {
  const names = (first: number, end: number) => Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
  gateway.change([
    ...changesOf(names(from, to).map((index) => other(index))),
    ...names(to, from).map((index) => ({
      remove: { kind: 'Ingress' as const, namespace: 'default', name: `other-${index}` },
    })),
  ]);
  await gateway.settled();
}

/** The table that holds the host under load now. */
function ownTable(): string {
  const key = hostKey(OWN);
  const names = [...gateway.pipeline.store.names(typeUrls.routes)].filter((name) => name.startsWith('https/'));
  return names.find((name) => {
    const [first = 0, last = first] = name.slice('https/'.length).split('-').map(Number);
    return first <= key && key <= last;
  })!;
}

test('while shards are divided and joined', { timeout: 240_000 }, async () => {
  const tables = new Set([ownTable()]);
  let size = SIZES[0]!;
  for (const next of SIZES) {
    await resize(size, next);
    size = next;
    tables.add(ownTable());
    for (let edit = 0; edit < EDITS_PER_SIZE; edit++) await gateway.apply(other((edit * 7) % size, `/p${edit}`));
    await gateway.apply(wildcard(`/w${size}`));
  }
  for (let round = 0; probe.sent() < MIN_REQUESTS; round++) {
    const next = round % 2 === 0 ? 140 : 120;
    await resize(size, next);
    size = next;
  }
  const report = await probe.stop();
  expect(report.failures).toEqual([]);
  expect(report.closed).toEqual([]);
  expect(report.messages).toBeGreaterThan(0);
  // Otherwise nothing was shown.
  expect(tables.size).toBeGreaterThanOrEqual(3);
  console.log(`${report.requests} requests, ${Math.round(report.requests / report.seconds)} per second, none lost`);
});
