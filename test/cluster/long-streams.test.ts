/** What is open stays open while everything around it changes. */

import { once } from 'node:events';
import { connect as http2Connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { createServer, type Socket, connect as tcpConnect } from 'node:net';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { peerCertificate } from '../support/http-client.ts';
import { configMap, endpointSlice, ingress, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { openWebSocket, type WebSocketClient } from '../support/probe-clients.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { eventually } from './support/eventually.ts';
import { adminSocket, getJson } from './support/insight.ts';
import type { RunningProcess } from './support/process.ts';
import { served, startEnvoy } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

const HOST = 'long.test';
const CHANGES = 100;
const STREAM_PORT = 9000;

let site: Site;
let other: Backend;
let envoy: RunningProcess;

beforeAll(async () => {
  site = await startSite();
  other = await startBackend('other', '10.200.2.2');
  // Statuses of Ingresses that live for moments only are not what this is about.
  const args = [`--tcp-services-configmap=${site.namespace}/tcp`, '--update-status=false'];
  const product = await site.start({ command: 'serve', args });
  await product.ready();
  // What would have to end because of a change ends within two seconds, and not only long after the test.
  const drain = ['--drain-time-s', '2', '--drain-strategy', 'immediate'];
  envoy = await startEnvoy(site.cluster, { xdsAddress: `unix:${product.xdsSocket}`, args: drain });
});
afterAll(async () => {
  await envoy?.stop();
  await other?.close();
  await site?.close();
});

/** Something that is open, and counts what comes. */
interface Held {
  readonly what: string;
  /** Bytes or messages so far. */
  received(): number;
  /** Why it has ended, if it has. */
  ended(): string | undefined;
  close(): void;
}

async function holdWebSocket(host: string, tls: boolean): Promise<Held> {
  let ended: string | undefined;
  const target = { host, httpPort: 80, httpsPort: 443 };
  const client: WebSocketClient = await openWebSocket(target, tls, () => {
    ended ??= 'closed';
  });
  const timer = setInterval(client.send, 10);
  return {
    what: tls ? 'WebSocket with TLS' : 'WebSocket',
    received: client.received,
    ended: () => ended,
    close: () => {
      clearInterval(timer);
      client.close();
    },
  };
}

/** An answer that never ends. */
async function holdHttp1(): Promise<Held> {
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port: 443,
    path: '/stream',
    agent: false,
    servername: HOST,
    headers: { host: HOST },
    rejectUnauthorized: false,
  });
  outgoing.end();
  const [response] = await once(outgoing, 'response');
  return held('answer over HTTP/1.1', response, () => outgoing.destroy());
}

async function holdHttp2(): Promise<Held> {
  const session = http2Connect('https://127.0.0.1:443', { servername: HOST, rejectUnauthorized: false });
  const stream = session.request({ ':path': '/stream', ':authority': HOST });
  await once(stream, 'response');
  const one = held('answer over HTTP/2', stream, () => session.destroy());
  let goodbye = false;
  session.on('goaway', () => {
    goodbye = true;
  });
  return { ...one, ended: () => one.ended() ?? (goodbye ? 'GOAWAY' : undefined) };
}

/** To a TCP service, which sends back what it gets. */
async function holdTcp(): Promise<Held> {
  const socket = await eventually('the TCP service', async () => {
    const trying = tcpConnect(STREAM_PORT, '127.0.0.1');
    await once(trying, 'connect');
    return trying;
  });
  const timer = setInterval(() => socket.write('ping\n'), 10);
  return held('TCP connection', socket, () => {
    clearInterval(timer);
    socket.destroy();
  });
}

function held(what: string, stream: Readable, close: () => void): Held {
  let bytes = 0;
  let ended: string | undefined;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  stream.on('error', (error: Error) => {
    ended ??= error.message;
  });
  stream.on('close', () => {
    ended ??= 'closed';
  });
  return { what, received: () => bytes, ended: () => ended, close };
}

/** What the changes are, in turn. Each is in force when it resolves. */
function changes(): ((index: number) => Promise<void>)[] {
  const { cluster, namespace, product } = site;
  const { api } = cluster;
  const backends = other.manifests(namespace, 'other');
  const own = (paths: readonly string[]) =>
    ingress({
      name: 'long',
      namespace,
      rules: [{ host: HOST, paths: [{ service: 'web:80' }, ...paths.map((path) => ({ path, service: 'other:80' }))] }],
      tls: [{ hosts: [HOST], secretName: 'long' }],
    });
  return [
    async (index) => {
      await api.apply(...backends, site.ingress(`new-${index}.test`));
      await served(`new-${index}.test`, { product });
    },
    // Another path of the very host.
    async (index) => {
      await api.apply(own([`/other-${index}`]));
      await served(HOST, { path: `/other-${index}`, tls: true, product });
    },
    // A host with a certificate of its own: another filter chain beside ours.
    async (index) => {
      const host = `tls-${index}.test`;
      await api.apply(
        tlsSecret(`tls-${index}`, await makePair([host]), namespace),
        ingress({
          name: `tls-${index}`,
          namespace,
          rules: [{ host, paths: [{ service: 'web:80' }] }],
          tls: [{ hosts: [host], secretName: `tls-${index}` }],
        }),
      );
      await certificateFor(host, `DNS:${host}`);
    },
    // It goes again.
    async (index) => {
      const name = `tls-${index - 1}`;
      await api.remove(ingress({ name, namespace }), tlsSecret(name, { chain: '', key: '' }, namespace));
      await served(`${name}.test`, { status: 404, product });
    },
    // Our own certificate is renewed.
    async (index) => {
      await api.apply(tlsSecret('long', await makePair([HOST, `round-${index}.test`]), namespace));
      await certificateFor(HOST, `DNS:${HOST}, DNS:round-${index}.test`);
    },
    // Our pod gets a neighbour, and is alone again.
    async () => {
      const both = ['10.200.2.1', '10.200.2.2'];
      await api.apply(endpointSlice('web', both, { namespace }));
      await eventually('answers of both', async () => {
        const answer = await served(HOST, { tls: true, product });
        return answer.body === 'other\n';
      });
      await api.apply(endpointSlice('web', both.slice(0, 1), { namespace }));
    },
    // Another TCP service comes.
    async (index) => {
      await api.apply(tcpServices([STREAM_PORT, STREAM_PORT + index]));
      await eventually('another TCP port', () => connects(STREAM_PORT + index));
    },
    async (index) => {
      await api.apply(tcpServices([STREAM_PORT]));
      await eventually('one TCP port less', async () => !(await connects(STREAM_PORT + index - 1)));
    },
    // A host goes.
    async (index) => {
      const host = `new-${index - 8}.test`;
      await api.remove(site.ingress(host));
      await served(host, { status: 404, product });
    },
    // A Service comes and goes beside ours.
    async (index) => {
      const name = `service-${index}`;
      await api.apply(
        service(name, undefined, namespace),
        ingress({
          name,
          namespace,
          rules: [{ host: `${name}.test`, paths: [{ service: `${name}:80` }] }],
        }),
      );
      await served(`${name}.test`, { status: 503, product });
      await api.remove(ingress({ name, namespace }), service(name, undefined, namespace));
    },
  ];
}

async function certificateFor(host: string, names: string): Promise<void> {
  await eventually(`the certificate of ${host}`, async () => {
    const { subjectaltname } = await peerCertificate(443, host);
    return subjectaltname === names;
  });
}

function tcpServices(ports: readonly number[]) {
  const data = Object.fromEntries(ports.map((port) => [String(port), `${site.namespace}/tcp-echo:9`]));
  return configMap('tcp', data, site.namespace);
}

async function connects(port: number): Promise<boolean> {
  const socket = tcpConnect(port, '127.0.0.1');
  return await once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

async function startTcpEcho(): Promise<() => void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  server.listen(9009, '10.200.2.3');
  await once(server, 'listening');
  return () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
}

test('streams, WebSockets and TCP connections outlive a hundred changes around them, and of their own host', async () => {
  const { cluster, namespace, product } = site;
  const stopEcho = await startTcpEcho();
  await cluster.api.apply(
    tlsSecret('long', await makePair([HOST]), namespace),
    ingress({
      name: 'long',
      namespace,
      rules: [{ host: HOST, paths: [{ service: 'web:80' }] }],
      tls: [{ hosts: [HOST], secretName: 'long' }],
    }),
    service('tcp-echo', [{ port: 9, targetPort: 9009 }], namespace),
    endpointSlice('tcp-echo', ['10.200.2.3'], { namespace, port: 9009 }),
    tcpServices([STREAM_PORT]),
  );
  await served(HOST, { tls: true, product });
  const all = await Promise.all([
    holdWebSocket(STEADY_HOST, false),
    holdWebSocket(HOST, true),
    holdHttp1(),
    holdHttp2(),
    holdTcp(),
  ]);
  const kinds = changes();
  for (let index = 0; index < CHANGES; index++) {
    const before = all.map((one) => one.received());
    await kinds[index % kinds.length]!(index);
    for (const [at, one] of all.entries()) {
      await eventually(`more of the ${one.what} after change ${index}`, () => {
        expect(one.ended()).toBeUndefined();
        return one.received() > before[at]!;
      });
    }
  }
  // What drains in the end has gone.
  const admin = adminSocket(cluster);
  await eventually('the end of what was replaced', async () => {
    const { stats } = await getJson(admin, '/stats?format=json&filter=^listener_manager.total_.*_draining$');
    return stats.length === 2 && stats.every(({ value }: { readonly value: number }) => value === 0);
  });
  expect(all.map(({ what, ended }) => `${what}: ${ended() ?? 'open'}`)).toEqual(all.map(({ what }) => `${what}: open`));
  for (const one of all) one.close();
  stopEcho();
});
