import { expect, test } from 'vitest';
import { host } from '../../annotations/copies.ts';
import { startBackend } from '../../support/backend.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { startGateway } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import { service } from '../../support/manifests.ts';
import { eventually } from '../../support/process/processes.ts';

const REQUESTS = 5;

test('copies that come back to the proxy are served and not copied again', async () => {
  let received = 0;
  const answer = (_: unknown, response: { end(): void }) => {
    received++;
    response.end();
  };
  const [backend, dns] = await Promise.all([startBackend('web', answer), startDnsServer()]);
  // A name of the proxy itself, of which nothing can be known before it is resolved.
  dns.set('proxy.example.com', { addresses: ['127.0.0.1'] });
  const gateway = await startGateway({
    manifests: [service('web'), backend.slice('web')],
    emit: { dnsServers: [dns.address] },
  });
  try {
    await gateway.apply(
      host('loop', {
        'mirror-target': `http://proxy.example.com:${gateway.httpPort}$request_uri`,
        'mirror-host': 'loop.copies.example.com',
      }),
      host('plain', {}),
    );
    const ask = async (name: string) => {
      const { status } = await send({ port: gateway.httpPort, host: `${name}.copies.example.com` });
      expect(status).toBe(200);
    };
    for (let index = 0; index < REQUESTS; index++) await ask('loop');
    await eventually('a copy of each request', () => received >= 2 * REQUESTS);
    for (let index = 0; index < REQUESTS; index++) await ask('plain');
    expect(received).toBe(3 * REQUESTS);
  } finally {
    await Promise.all([gateway, backend, dns].map((one) => one.close()));
  }
});
