/** What changes without a reload, on a real nginx: endpoints and certificates. */
import { rename } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { configurationSocket } from '../../src/nginx/dynamic.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { changesOf } from '../support/gateway.ts';
import { peerCertificate, send } from '../support/http-client.ts';
import { endpointSlice, ingress, service, tlsSecret } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { eventually } from '../support/process/processes.ts';
import { workersOf } from './support/workers.ts';

const HOST = 'web.example.com';

let gateway: NginxGateway;
let backends: readonly Backend[];
let pairs: readonly Pair[];

beforeAll(async () => {
  pairs = await Promise.all([makePair([HOST]), makePair([HOST]), makePair(['*.example.com'])]);
});
beforeEach(async () => {
  backends = await Promise.all(['a', 'b'].map((name) => startBackend(name)));
});
afterEach(async () => {
  await gateway.close();
  await Promise.all(backends.map((backend) => backend.close()));
});

async function start(options: Parameters<typeof startNginxGateway>[0] = {}): Promise<void> {
  gateway = await startNginxGateway({
    manifests: [
      ingress({
        name: 'web',
        rules: [{ host: HOST, paths: [{}] }],
        tls: [{ hosts: [HOST], secretName: 'web' }],
      }),
      service('web'),
      slice('a'),
      tlsSecret('web', pairs[0]!),
    ],
    ...options,
  });
}

/** The endpoints of the Service: these backends. */
function slice(...names: readonly string[]) {
  const endpoints = names.map((name) => backends.find((backend) => backend.name === name)!.port);
  const [port] = endpoints;
  return endpointSlice('web', port === undefined ? [] : ['127.0.0.1'], { port: port ?? 1 });
}

async function answeredBy(): Promise<string> {
  const { status, body } = await send({ port: gateway.httpsPort, host: HOST, tls: true });
  return status === 200 ? JSON.parse(body).backend : `status ${status}`;
}

async function serial(): Promise<string> {
  return (await peerCertificate(gateway.httpsPort, HOST)).serialNumber;
}

function loads(): number {
  return gateway.outcomes.filter(({ kind }) => kind === 'loaded').length;
}

describe('endpoints', () => {
  test('that change cost no reload, and the next request goes to them', async () => {
    await start();
    const workers = await workersOf(gateway.pid);
    const seen: string[] = [];
    for (const name of ['a', 'b', 'a', 'b']) {
      await gateway.apply(slice(name));
      seen.push(await answeredBy());
    }
    await gateway.apply(slice());
    seen.push(await answeredBy());
    await gateway.remove('EndpointSlice', 'web-a');
    seen.push(await answeredBy());
    await gateway.apply(slice('b'));
    seen.push(await answeredBy());
    expect(seen).toEqual(['a', 'b', 'a', 'b', 'status 503', 'status 503', 'b']);
    expect(await workersOf(gateway.pid)).toEqual(workers);
    expect(loads()).toBe(1);
  });

  test('of a host that comes are there before it, and stay until it has gone', async () => {
    await start();
    const host = 'new.example.com';
    await gateway.apply(
      ingress({ name: 'new', rules: [{ host, paths: [{ service: 'new:80' }] }] }),
      service('new'),
      backends[1]!.slice('new'),
    );
    expect((await send({ port: gateway.httpPort, host })).status).toBe(200);
    await gateway.remove('Ingress', 'new');
    expect((await send({ port: gateway.httpPort, host })).status).toBe(404);
    expect(loads()).toBe(3);
  });

  test('without Lua cost a reload, which is all that differs', async () => {
    await start({ lua: false });
    await gateway.apply(slice('b'));
    expect(await answeredBy()).toBe('b');
    expect(loads()).toBe(2);
    const first = await serial();
    await gateway.apply(tlsSecret('web', pairs[1]!));
    expect(await serial()).not.toBe(first);
    expect(loads()).toBe(3);
  });
});

describe('a certificate', () => {
  test('that is rotated is in the next handshake, costs no reload and no connection', async () => {
    await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const serials: string[] = [];
    const kept = () => getKept(agent);
    const first = await kept();
    for (const pair of [pairs[1]!, pairs[0]!, pairs[1]!]) {
      serials.push(await serial());
      await gateway.apply(tlsSecret('web', pair));
      expect(await kept()).toBe(first);
    }
    serials.push(await serial());
    expect(new Set(serials).size).toBe(2);
    expect(serials.every((one, index) => index === 0 || one !== serials[index - 1])).toBe(true);
    expect(loads()).toBe(1);
    agent.destroy();
  });

  test('of another name answers at once, and again the default one', async () => {
    await start();
    const own = await serial();
    await gateway.remove('Secret', 'web');
    const fallback = await serial();
    expect(fallback).not.toBe(own);
    await gateway.apply(tlsSecret('web', pairs[0]!));
    expect(await serial()).toBe(own);
    expect(loads()).toBe(1);
  });

  /** One request; resolves with the local port of the connection that it went over. */
  function getKept(agent: Agent): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const target = { host: '127.0.0.1', port: gateway.httpsPort, servername: HOST, rejectUnauthorized: false };
    const outgoing = request({ ...target, headers: { host: HOST }, agent }, (response) => {
      const { localPort = 0 } = response.socket;
      response.resume().on('end', () => resolve(localPort));
    });
    outgoing.on('error', reject);
    outgoing.end();
    return promise;
  }
});

test('changes that nginx did not take are told, tried again, and then all there', async () => {
  await start({ delivery: { retries: 2 } });
  const socket = configurationSocket(gateway.folder);
  await rename(socket, `${socket}.away`);
  gateway.change(changesOf([slice('b'), tlsSecret('web', pairs[1]!)]));
  await eventually('the report', () =>
    gateway.log().includes('nginx does not take changes at run time: connect ENOENT'),
  );
  expect(await answeredBy()).toBe('a');
  await rename(`${socket}.away`, socket);
  await gateway.settled();
  expect(await answeredBy()).toBe('b');
  expect(loads()).toBe(1);
});

test('a configuration is loaded although changes at run time are not taken', async () => {
  await start();
  const socket = configurationSocket(gateway.folder);
  await rename(socket, `${socket}.away`);
  const host = 'other.example.com';
  gateway.change(
    changesOf([ingress({ name: 'other', rules: [{ host, paths: [{ service: 'web:80' }] }] }), slice('b')]),
  );
  await eventually('the load', () => loads() === 2);
  expect(JSON.parse((await send({ port: gateway.httpPort, host })).body).backend).toBe('a');
  await rename(`${socket}.away`, socket);
  await gateway.settled();
  expect(JSON.parse((await send({ port: gateway.httpPort, host })).body).backend).toBe('b');
});
