/**
 * With certificates on demand a TLS host costs the same at any number of them: it is in no listener, and its secret waits to be
 * asked for.
 */
import { beforeAll, expect, test } from 'vitest';
import { typeUrls } from '../../src/xds/resource.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { peerCertificate } from '../support/http-client.ts';
import { ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';

const COUNTS = [10, 200];
const LAST = Math.max(...COUNTS);
const hostName = (index: number) => `h${String(index).padStart(3, '0')}.example.com`;

let pairs: Pair[];
let renewed: Pair;

beforeAll(async () => {
  pairs = await Promise.all(Array.from({ length: LAST + 1 }, (_, index) => makePair([hostName(index)])));
  renewed = await makePair([hostName(LAST)]);
});

function site(index: number): Manifest[] {
  const name = `t${String(index).padStart(3, '0')}`;
  const rules = [{ host: hostName(index), paths: [{ path: '/' }] }];
  return [
    tlsSecret(name, pairs[index]!),
    ingress({ name, rules, tls: [{ hosts: [hostName(index)], secretName: name }] }),
  ];
}

/** What was sent and encoded meanwhile. Of route tables, which grow with their hosts, only that they were sent. */
async function costOf({ events, pipeline }: Gateway, change: () => Promise<unknown>): Promise<unknown> {
  const from = events.length;
  const before = pipeline.emitter.counters();
  await change();
  const sent = events.slice(from).flatMap((event) => (event.kind === 'response' ? [event] : []));
  const encodes = Object.entries(pipeline.emitter.counters()).map(([kind, count]) => [
    kind,
    count - (before[kind] ?? 0),
  ]);
  return {
    sent: sent.flatMap(({ typeUrl, names, removed }) => [
      ...names.map((name) => `${typeUrl.slice(typeUrl.lastIndexOf('.') + 1)} ${name}`),
      ...removed.map((name) => `-${typeUrl.slice(typeUrl.lastIndexOf('.') + 1)} ${name}`),
    ]),
    encodes: Object.fromEntries(encodes.filter(([, count]) => count !== 0)),
  };
}

test('a TLS host that comes, is asked for, and rotates', { timeout: 120_000 }, async () => {
  const outcomes = [];
  for (const count of COUNTS) {
    const sites = Array.from({ length: count }, (_, index) => site(index)).flat();
    const gateway = await startGateway({ build: { tlsOnDemand: true }, manifests: [service('web'), ...sites] });
    try {
      const handshake = () => peerCertificate(gateway.httpsPort, hostName(LAST));
      const listener = gateway.pipeline.store.get(typeUrls.listener, 'https');
      outcomes.push({
        comes: await costOf(gateway, () => gateway.apply(...site(LAST))),
        asked: await costOf(gateway, handshake),
        askedAgain: await costOf(gateway, handshake),
        rotates: await costOf(gateway, () => gateway.apply(tlsSecret(`t${LAST}`, renewed))),
        listenerBytes: listener?.body().length,
      });
      expect(gateway.pipeline.store.get(typeUrls.listener, 'https')?.version).toBe(listener?.version);
    } finally {
      await gateway.close();
    }
  }
  const [few, many] = outcomes;
  const routes = ['RouteConfiguration http', 'RouteConfiguration https'];
  const secret = `Secret ${hostName(LAST)}`;
  expect(few).toEqual({
    comes: { sent: routes, encodes: { Secret: 1, VirtualHost: 2, RouteConfiguration: 2 } },
    asked: { sent: [secret], encodes: {} },
    askedAgain: { sent: [], encodes: {} },
    rotates: { sent: [secret], encodes: { Secret: 1 } },
    listenerBytes: expect.any(Number),
  });
  expect(many).toEqual(few);
});
