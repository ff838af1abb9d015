/** The socket on which nginx takes copies of requests from itself: it comes and goes with what asks for it. */
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copiesSocket } from '../../src/nginx/mirror.ts';
import { type CopyServer, copied, host, startCopyServer } from '../annotations/copies.ts';
import { type Services, startServices } from '../envoy/behaviour/cases.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { startNginxGateway } from '../support/nginx-gateway.ts';
import { eventually } from '../support/process/processes.ts';
import { startNginxCommand } from './support/nginx-command.ts';

const TARGET = 'target.example.com';
let services: Services;
let copies: CopyServer;
let dns: DnsServer;

beforeEach(async () => {
  [services, copies, dns] = await Promise.all([startServices('web'), startCopyServer(), startDnsServer()]);
  dns.set(TARGET, { addresses: ['127.0.0.1'] });
});
afterEach(async () => {
  await Promise.all([services, copies, dns].map((one) => one.close()));
});

test('with the Ingresses that have copies', async () => {
  const manifests = [...services.manifests, ...copies.manifests];
  const delivery = { resolvers: [`${dns.address.ip}:${dns.address.port}`] };
  const gateway = await startNginxGateway({ manifests, delivery });
  const whole = host('whole', { 'mirror-target': `http://${TARGET}:${copies.httpPort}$request_uri` });
  const { run, expected } = copied('whole', { path: '/a', method: 'POST', body: 'x' }, { url: '/a', bytes: 1 });
  try {
    expect(existsSync(copiesSocket(gateway.folder))).toBe(false);
    await gateway.apply(whole);
    expect(await run(gateway)).toEqual(expected);
    await gateway.apply(host('another', { 'mirror-target': 'http://nowhere.example.com/' }));
    expect(await run(gateway)).toEqual(expected);
    await gateway.remove('Ingress', 'whole');
    await gateway.remove('Ingress', 'another');
    await eventually('the socket is gone', () => !existsSync(copiesSocket(gateway.folder)));
    await gateway.apply(whole);
    expect(await run(gateway)).toEqual(expected);
  } finally {
    await gateway.close();
  }
});

test('it is no obstacle for the next master', async () => {
  // An address for documentation: nobody is there.
  const mirrored = host('whole', { 'mirror-target': 'http://192.0.2.99$request_uri' });
  const nginx = await startNginxCommand([...services.manifests, mirrored]);
  try {
    await nginx.answers('whole.copies.example.com', 200);
    const master = await nginx.master();
    process.kill(master, 'SIGKILL');
    await eventually('another master', async () => (await nginx.master()) !== master);
    await nginx.answers('whole.copies.example.com', 200);
  } finally {
    await nginx.close();
  }
}, 60_000);
