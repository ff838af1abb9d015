/** Envoys that start, end, are replaced and crash, and control planes that come before or after them: what clients see. */
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { sendHttp2 } from '../support/http-client.ts';
import { ingress, ingressClass } from '../support/manifests.ts';
import { childrenOf } from '../support/process/processes.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { type FaultProxy, startFaultProxy } from './support/fault-proxy.ts';
import { adminSocket, getJson, socketsOf } from './support/insight.ts';
import { type Account, createAccount } from './support/permissions.ts';
import type { RunningProcess } from './support/process.ts';
import {
  type Product,
  type ProductOptions,
  probe,
  request,
  served,
  startEnvoy,
  startProduct,
} from './support/product.ts';
import { namespace } from './support/workloads.ts';

const HOST = 'life.test';
/** Enough of them that a first configuration takes its time. */
const HOSTS = 300;
const SLOW = '/slow/3000';
const ASK_EVERY_MS = 5;

let cluster: Cluster;
let proxy: FaultProxy;
let account: Account;
let backend: Backend;
let product: Product | undefined;
const envoys: RunningProcess[] = [];

beforeAll(async () => {
  // Connections that wait to be accepted move to another listener of the port when theirs closes.
  writeFileSync('/proc/sys/net/ipv4/tcp_migrate_req', '1');
  cluster = await startCluster({ pods: false });
  proxy = await startFaultProxy(cluster);
  account = await createAccount(cluster, { server: proxy.url });
  backend = await startBackend('web');
  const ns = await namespace(cluster);
  const hosts = Array.from({ length: HOSTS }, (_, index) => `h${index}.test`);
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'), ...backend.manifests(ns, 'web'));
  for (const host of [...hosts, HOST]) {
    const name = host.replaceAll('.', '-');
    await cluster.api.apply(ingress({ name, namespace: ns, rules: [{ host, paths: [{ service: 'web:80' }] }] }));
  }
});
afterEach(async () => {
  await Promise.all(envoys.splice(0).map((envoy) => envoy.stop('SIGKILL')));
  await product?.stop();
  product = undefined;
});
afterAll(async () => {
  await backend?.close();
  await proxy?.close();
  await cluster?.stop();
});

function start({ args = [], ...options }: Partial<ProductOptions> = {}): Product {
  // Hundreds of statuses to write and to clear are not what this is about.
  product = startProduct(cluster, { account, args: ['--update-status=false', ...args], ...options });
  return product;
}

async function attach(name: string, { xdsSocket }: Product): Promise<RunningProcess> {
  const envoy = await startEnvoy(cluster, { name, xdsAddress: `unix:${xdsSocket}` });
  envoys.push(envoy);
  return envoy;
}

/** Waits until this Envoy takes connections, whoever else does. */
async function listening(name: string): Promise<void> {
  await eventually(`the listeners of ${name}`, async () => {
    const { listener_statuses: listeners = [] } = await getJson(adminSocket(cluster, name), '/listeners?format=json');
    return listeners.length === 2;
  });
}

/** What a preStop hook does, and what kubelet does after it. The WebSockets of the probe are left, and idle connections. */
async function drainAndEnd(name: string, envoy: RunningProcess): Promise<void> {
  const { output } = await runCommand(['drain', '--admin-socket', adminSocket(cluster, name), '--drain-timeout', '8']);
  expect(output).toMatch(/^(Drained|The time to drain is over; connections that are left: \d)$/m);
  await envoy.stop();
}

interface Watch {
  /** Statuses that were answered so far, each once; `refused` stands for nobody who answers. */
  seen(): ReadonlySet<number | 'refused'>;
  stop(): Promise<void>;
}

/** Asks on both ports all the time, each time on a new connection. */
function watchPorts(): Watch {
  const seen = new Set<number | 'refused'>();
  let running = true;
  const ask = async (tls: boolean, host: string) => {
    while (running) {
      const answer = await request(host, { tls }).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') return undefined;
        throw error;
      });
      seen.add(answer?.status ?? 'refused');
      // The machine has other things to do.
      await delay(ASK_EVERY_MS);
    }
  };
  const workers = [ask(false, HOST), ask(true, HOST), ask(false, `h${HOSTS - 1}.test`), ask(true, 'h0.test')];
  return {
    seen: () => seen,
    stop: async () => {
      running = false;
      await Promise.all(workers);
    },
  };
}

/** Requests that take three seconds, over every kind of connection. Resolves with the statuses, or why there is none. */
function slowRequests(): Promise<readonly (number | string)[]> {
  const plain = Array.from({ length: 4 }, () => request(HOST, { path: SLOW }));
  const tls = Array.from({ length: 4 }, () => request(HOST, { path: SLOW, tls: true }));
  const http2 = Array.from({ length: 4 }, () => sendHttp2({ port: 443, host: HOST, path: SLOW }));
  const outcomes = [...plain, ...tls, ...http2].map((answer) =>
    answer.then(
      ({ status }) => status,
      (error: Error) => error.message,
    ),
  );
  return Promise.all(outcomes);
}

/** Resolves when Envoys have this many requests in flight together. */
async function inFlight(sockets: readonly string[], count: number): Promise<void> {
  await eventually(`${count} requests in flight`, async () => {
    const all = await Promise.all(
      sockets.map((socket) => getJson(socket, '/stats?format=json&filter=^http\\.http.*\\.downstream_rq_active$')),
    );
    const sum = all
      .flatMap(({ stats }) => stats as readonly { readonly value?: number }[])
      .reduce((total, { value = 0 }) => total + value, 0);
    return sum >= count;
  });
}

describe('no request meets an Envoy that knows only a part', () => {
  test('when Envoy starts before the control plane', async () => {
    // Where the control plane will be.
    const first = start({ command: 'serve' });
    await first.stop('SIGKILL');
    await attach('early', first);
    // Refused connections, or those that were taken.
    const attempts = async () => {
      const filter = encodeURIComponent('^cluster\\.xds\\.upstream_cx_(connect_fail|total)$');
      const { stats } = await getJson(adminSocket(cluster, 'early'), `/stats?format=json&filter=${filter}`);
      return (stats as readonly { readonly value: number }[]).reduce((sum, { value }) => sum + value, 0);
    };
    await eventually('that Envoy misses it', async () => (await attempts()) > 0);
    const watch = watchPorts();
    // Of all kinds, the one without which every answer would be 404 comes last.
    const released = Promise.withResolvers<void>();
    proxy.setFault(({ verb, resource }) =>
      verb === 'list' && resource === 'ingresses' ? { kind: 'wait', until: released.promise } : undefined,
    );
    const control = start({ command: 'serve' });
    await eventually('that other kinds are known', () => proxy.count('watch', 'endpointslices') > 0, {
      timeoutMs: 45_000,
      describe: () => JSON.stringify(proxy.requests.slice(-20)) + control.log(),
    });
    const before = await attempts();
    await eventually('that Envoy tries again', async () => (await attempts()) > before);
    proxy.setFault(undefined);
    released.resolve();
    await control.ready();
    await served(HOST, { product: control });
    await served(HOST, { tls: true, product: control });
    await watch.stop();
    expect(watch.seen()).toEqual(new Set(['refused', 200]));
  });

  test('when Envoy starts after the control plane', async () => {
    const control = start({ command: 'serve' });
    await control.ready();
    const watch = watchPorts();
    await attach('late', control);
    await served(HOST, { product: control });
    await served(HOST, { tls: true, product: control });
    await watch.stop();
    expect(watch.seen()).toEqual(new Set(['refused', 200]));
  });

  test('when both start together, and ready means that both ports answer', async () => {
    const watch = watchPorts();
    const both = start();
    await both.ready();
    const answers = await Promise.all([request(HOST), request(HOST, { tls: true })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await watch.stop();
    expect(watch.seen()).toEqual(new Set(['refused', 200]));
  });

  test('when Envoy crashes and is started again', async () => {
    const both = start();
    await both.ready();
    const watch = watchPorts();
    const envoyOf = () => childrenOf(both.process.pid).find(({ command }) => /envoy\S* -c/.test(command))?.pid;
    const first = envoyOf();
    process.kill(first!, 'SIGKILL');
    await eventually('another Envoy', () => envoyOf() !== undefined && envoyOf() !== first);
    await served(HOST, { product: both });
    await served(HOST, { tls: true, product: both });
    await watch.stop();
    expect(watch.seen()).toEqual(new Set(['refused', 200]));
  });

  test('when the control plane crashes and is started again', async () => {
    const both = start();
    await both.ready();
    const standing = await probe(HOST);
    const controlOf = () => childrenOf(both.process.pid).find(({ command }) => command.includes('control-plane'))?.pid;
    const first = controlOf();
    process.kill(first!, 'SIGKILL');
    await eventually('another control plane', () => controlOf() !== undefined && controlOf() !== first);
    await both.ready();
    const { failures, closed } = await standing.stop();
    expect({ failures, closed }).toEqual({ failures: [], closed: [] });
  });
});

describe('requests of three seconds survive', () => {
  test('the replacement of each of two Envoys', async () => {
    const control = start({ command: 'serve' });
    await control.ready();
    let old = [
      { name: 'a-0', envoy: await attach('a-0', control) },
      { name: 'b-0', envoy: await attach('b-0', control) },
    ];
    for (const { name } of old) await listening(name);
    await served(HOST, { product: control });
    const standing = await probe(HOST);
    const slow: ReturnType<typeof slowRequests>[] = [];
    for (const { name, envoy } of old) {
      slow.push(slowRequests());
      await inFlight(
        old.map((each) => adminSocket(cluster, each.name)),
        12,
      );
      const next = name.replace(/\d$/, '1');
      const replacement = await attach(next, control);
      await listening(next);
      await drainAndEnd(name, envoy);
      old = old.map((each) => (each.name === name ? { name: next, envoy: replacement } : each));
      slow.push(slowRequests());
    }
    const statuses = (await Promise.all(slow)).flat();
    expect(statuses).toEqual(statuses.map(() => 200));
    // Connections end with their Envoy; requests do not.
    const { failures, requests } = await standing.stop();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(100);
  });

  test('the end of run', async () => {
    const both = start({ args: ['--drain-timeout', '20'] });
    await both.ready();
    const { adminSocket: admin } = socketsOf(both);
    const slow = slowRequests();
    await inFlight([admin], 12);
    const exit = both.stop();
    await eventually('that nobody else is let in', () =>
      request(HOST).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      ),
    );
    const statuses = await slow;
    expect(statuses).toEqual(statuses.map(() => 200));
    expect(await exit).toBe(0);
  });
});
