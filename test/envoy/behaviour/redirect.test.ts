import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send, sendRaw } from '../../support/http-client.ts';
import { ingress, type Manifest, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { observe, type Services, soon, startServices, testCases } from './cases.ts';

let gateway: Gateway;
let services: Services;

function host(name: string, paths: readonly string[], tls?: object): Manifest {
  return ingress({
    name: name.replaceAll('.', '-'),
    rules: [{ host: name, paths: paths.map((path) => ({ path })) }],
    ...(tls && { tls: [tls] }),
  });
}

beforeAll(async () => {
  services = await startServices('web', 'solver');
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      host('plain.example.com', ['/']),
      host('shop.example.com', ['/'], { hosts: ['shop.example.com'], secretName: 'shop' }),
      tlsSecret('shop', await makePair(['shop.example.com'])),
      host('part.example.com', ['/part'], { hosts: ['part.example.com'], secretName: 'shop' }),
      host('no-secret.example.com', ['/'], { hosts: ['no-secret.example.com'] }),
      host('missing.example.com', ['/'], { hosts: ['missing.example.com'], secretName: 'nowhere' }),
      host('unlisted.example.com', ['/'], { hosts: ['other.example.com'], secretName: 'shop' }),
      ingress({
        name: 'solver',
        rules: [
          {
            host: 'shop.example.com',
            paths: [
              { path: '/.well-known/acme-challenge/token', pathType: 'Exact', service: 'solver:80' },
              { path: '/.well-known/acme-challenge/tree', service: 'solver:80' },
            ],
          },
        ],
      }),
      // The second Ingress of a host whose first one has TLS.
      host('two.example.com', ['/'], { hosts: ['two.example.com'], secretName: 'nowhere' }),
      ingress({ name: 'two-more', rules: [{ host: 'two.example.com', paths: [{ path: '/more' }] }] }),
      ingress({
        name: 'broken-backend',
        rules: [{ host: 'broken.example.com', paths: [{ service: 'nowhere:80' }] }],
        tls: [{ hosts: ['broken.example.com'] }],
      }),
      ingress({ name: 'any', rules: [{ paths: [{ path: '/any' }] }], tls: [{ secretName: 'shop' }] }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

function leadsTo(url: string, location: string, more: object = {}) {
  return { url, status: 308, answered: { location }, ...more };
}

describe('http is redirected to https', () => {
  testCases(
    () => gateway,
    [
      leadsTo('http://shop.example.com/', 'https://shop.example.com', { because: 'as nginx drops the slash' }),
      leadsTo('http://shop.example.com/a/b', 'https://shop.example.com/a/b'),
      leadsTo('http://shop.example.com/a?b=c&d=%20', 'https://shop.example.com/a?b=c&d=%20'),
      leadsTo('http://shop.example.com/a/', 'https://shop.example.com/a', { because: 'as nginx drops the slash' }),
      leadsTo('http://shop.example.com/a/?b=c', 'https://shop.example.com/a/?b=c', {
        because: 'only a slash at the very end is dropped',
      }),
      leadsTo('http://shop.example.com/a?b=/', 'https://shop.example.com/a?b='),
      leadsTo('http://shop.example.com:8080/a', 'https://shop.example.com/a', {
        because: 'the port speaks plain HTTP',
      }),
      leadsTo('http://shop.example.com:80/a', 'https://shop.example.com/a'),
      leadsTo('http://shop.example.com./a', 'https://shop.example.com/a'),
      leadsTo('http://shop.example.com/a%2Fb%20c', 'https://shop.example.com/a%2Fb%20c'),
      leadsTo('http://shop.example.com/a', 'https://shop.example.com/a', { method: 'POST', body: 'x' }),
      leadsTo('http://shop.example.com/a', 'https://shop.example.com/a', { method: 'HEAD' }),
      leadsTo('http://shop.example.com/a', 'https://shop.example.com/a', {
        headers: { 'x-forwarded-proto': 'https' },
        because: 'what a client says of its own connection is not believed',
      }),
      leadsTo('http://part.example.com/part', 'https://part.example.com/part'),
      leadsTo('http://part.example.com/x', 'https://part.example.com/x', {
        because: 'what no rule names belongs to the host',
      }),
      leadsTo('http://two.example.com/more', 'https://two.example.com/more', { because: 'TLS belongs to the host' }),
      leadsTo('http://broken.example.com/', 'https://broken.example.com', { because: 'the backend does not matter' }),
    ],
  );

  test('whatever the case of the host', async () => {
    const { answer } = await observe(gateway, { url: 'http://SHOP.example.com/a' });
    expect([answer.status, answer.headers.location?.toLowerCase()]).toEqual([308, 'https://shop.example.com/a']);
  });

  test('with the page of nginx', async () => {
    const { answer } = await observe(gateway, { url: 'http://shop.example.com/' });
    expect(answer.headers['content-type']).toBe('text/html');
    expect(answer.body).toContain('<center><h1>308 Permanent Redirect</h1></center>');
  });

  test('over HTTP/1.0, with the host of the request', async () => {
    const answer = await sendRaw(gateway.httpPort, 'GET /a HTTP/1.0\r\nHost: shop.example.com\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.0 308 /);
    expect(answer).toMatch(/\r\nlocation: https:\/\/shop\.example\.com\/a\r\n/i);
  });
});

describe('whatever became of the certificate', () => {
  testCases(
    () => gateway,
    [
      leadsTo('http://no-secret.example.com/', 'https://no-secret.example.com', { because: 'TLS without a Secret' }),
      leadsTo('http://missing.example.com/', 'https://missing.example.com', { because: 'the Secret does not exist' }),
      leadsTo('http://unlisted.example.com/', 'https://unlisted.example.com', { because: 'TLS names another host' }),
      { url: 'https://missing.example.com/', backend: 'web' },
      { url: 'https://unlisted.example.com/', backend: 'web' },
    ],
  );
});

describe('not redirected', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://plain.example.com/', backend: 'web', because: 'there is no TLS' },
      { url: 'https://shop.example.com/a/', backend: 'web', path: '/a/' },
      { url: 'http://shop.example.com/.well-known/acme-challenge/token', backend: 'solver' },
      { url: 'http://shop.example.com/.well-known/acme-challenge/tree/x', backend: 'solver' },
      {
        url: 'http://shop.example.com/.well-known/acme-challenge/else',
        status: 308,
        because: 'the path of the Ingress counts, not that of the request',
      },
      { url: 'http://unknown.example.org/any', backend: 'web', because: 'host-less rules have no TLS of their own' },
      { url: 'http://unknown.example.org/healthz', status: 200 },
    ],
  );
});

describe('TLS comes and goes', () => {
  test('with the Ingress that brings it', async () => {
    const status = async () => (await send({ port: gateway.httpPort, host: 'plain.example.com' })).status;
    await gateway.apply(host('plain.example.com', ['/'], { hosts: ['plain.example.com'] }));
    await soon(status).toBe(308);
    await gateway.apply(host('plain.example.com', ['/']));
    await soon(status).toBe(200);
  });
});
