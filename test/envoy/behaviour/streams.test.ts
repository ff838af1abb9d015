/** Messages that take their time: slow clients, streams in both directions, connections of old clients. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sendRaw } from '../../support/http-client.ts';
import { ingress, service } from '../../support/manifests.ts';
import { type Services, startServices } from './cases.ts';

const MIB = 1024 * 1024;
const LARGE = 48 * MIB;

let gateway: Gateway;
let services: Services;
let large: Backend;
let duplex: Backend;
/** Version and headers of the requests that reached the backend that answers piece by piece. */
const duplexSaw: Pick<IncomingMessage, 'httpVersion' | 'headers'>[] = [];

beforeAll(async () => {
  services = await startServices('web');
  large = await startBackend('large', (_, response) => {
    const piece = Buffer.alloc(MIB, 'x');
    let left = LARGE / MIB;
    const write = () => {
      while (left > 0) {
        left -= 1;
        if (!response.write(piece)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  duplex = await startBackend('duplex', (request, response) => {
    duplexSaw.push({ httpVersion: request.httpVersion, headers: request.headers });
    response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'text/plain' });
    request.on('data', (data: Buffer) => response.write(data));
    request.on('end', () => response.end());
  });
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      service('large'),
      large.slice('large'),
      service('duplex'),
      duplex.slice('duplex'),
      ...['web', 'large', 'duplex'].map((name) =>
        ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
      ),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, large, duplex].map((part) => part?.close()));
});

describe('a client that reads slowly', () => {
  test('gets everything, at its own pace', async () => {
    const outgoing = httpRequest({ port: gateway.httpPort, host: '127.0.0.1', headers: { host: 'large.example.com' } });
    const [response] = (await once(outgoing.end(), 'response')) as [IncomingMessage];
    let bytes = 0;
    let pauses = 0;
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length;
      if (bytes < (pauses + 1) * 8 * MIB) continue;
      pauses += 1;
      await delay(300);
    }
    expect([bytes, pauses]).toEqual([LARGE, LARGE / (8 * MIB)]);
  });
});

describe('a client that writes slowly', () => {
  test('is heard to the end', async () => {
    const outgoing = httpRequest({
      port: gateway.httpPort,
      host: '127.0.0.1',
      method: 'PUT',
      headers: { host: 'web.example.com', 'content-length': 10 },
    });
    const answered = once(outgoing, 'response');
    for (let count = 0; count < 10; count += 1) {
      outgoing.write(String(count));
      await delay(100);
    }
    outgoing.end();
    const [response] = (await answered) as [IncomingMessage];
    const chunks: Buffer[] = await response.toArray();
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ backend: 'web', body: '0123456789' });
  });
});

describe('a stream in both directions', () => {
  test.each(['application/grpc', 'application/octet-stream'])(
    '%s from HTTP/2: each piece is answered before the next is sent',
    async (type) => {
      const session = http2Connect(`https://127.0.0.1:${gateway.httpsPort}`, {
        rejectUnauthorized: false,
        servername: 'duplex.example.com',
      });
      const stream = session.request({
        ':method': 'POST',
        ':path': '/pkg.Service/Method',
        ':authority': 'duplex.example.com',
        'content-type': type,
        te: 'trailers',
      });
      const responded = once(stream, 'response');
      stream.write('first');
      const [headers] = (await responded) as [Record<string, string>];
      const [first] = await once(stream.setEncoding('utf8'), 'data');
      stream.write('second');
      const [second] = await once(stream, 'data');
      stream.end();
      await once(stream, 'end');
      session.destroy();
      expect([headers['content-type'], first, second]).toEqual([type, 'first', 'second']);
      // Without backend-protocol every backend is spoken to in HTTP/1.1.
      expect(duplexSaw.at(-1)).toMatchObject({ httpVersion: '1.1', headers: { 'content-type': type } });
    },
  );
});

describe('HTTP/1.0', () => {
  test('keeps the connection for a client that asks for it', async () => {
    const asking = 'GET /1 HTTP/1.0\r\nHost: web.example.com\r\nConnection: keep-alive\r\n\r\n';
    const last = 'GET /2 HTTP/1.0\r\nHost: web.example.com\r\n\r\n';
    const answers = await sendRaw(gateway.httpPort, asking + last);
    expect(answers.match(/HTTP\/1\.\d 200 OK\r\n/g)).toHaveLength(2);
    expect(answers).toContain('"url":"/1"');
    expect(answers).toContain('"url":"/2"');
  });

  test('ends it otherwise', async () => {
    const one = 'GET /1 HTTP/1.0\r\nHost: web.example.com\r\n\r\n';
    expect((await sendRaw(gateway.httpPort, one + one)).match(/HTTP\/1\.\d 200 OK\r\n/g)).toHaveLength(1);
  });
});
