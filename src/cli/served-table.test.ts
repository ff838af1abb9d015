import { expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { createTestModel, forward, host, respond, TO_HTTPS } from '../envoy/testing.ts';
import type { Route } from '../model/proxy-model.ts';
import { curlCommands, servedTable } from './served-table.ts';

const ports = { http: 8080, https: 8443 };

test.each<[host: string, Route, string[]]>([
  ['a.test', forward('/x', 'web', TO_HTTPS), ['curl -k --resolve a.test:8443:127.0.0.1 https://a.test:8443/x']],
  // No request names a host with an asterisk.
  [
    '*.a.test',
    forward('/', 'web'),
    [
      "curl -H 'Host: any.a.test' http://127.0.0.1:8080/",
      'curl -k --resolve any.a.test:8443:127.0.0.1 https://any.a.test:8443/',
    ],
  ],
  // Neither the shell nor curl expands what stands in the path.
  [
    'a.test',
    forward("/(x|$y)[1]'", 'web', TO_HTTPS),
    [`curl -k --resolve a.test:8443:127.0.0.1 -g 'https://a.test:8443/(x|$y)[1]'\\'''`],
  ],
  ['a.test', respond('/', 503), []],
])('the commands for %s', (name, route, commands) => {
  const engine = new Engine();
  const model = createTestModel(engine);
  model.virtualHosts.set(name, host(name, route));
  engine.pass();
  expect(curlCommands(model, ports)).toEqual(commands);
});

test('ports of TCP and UDP services stand below the routes, in order', () => {
  const engine = new Engine();
  const model = createTestModel(engine);
  const proxied = 'shop/db/5432~0badcafe';
  model.clusters.set(proxied, {
    kind: 'endpoints',
    name: proxied,
    endpoints: 'shop/db/5432',
    policy: { proxyProtocol: true },
  });
  for (const listener of [
    { name: 'udp-53', protocol: 'udp', port: 53, cluster: 'shop/dns/53/udp' },
    { name: 'tcp-9000', protocol: 'tcp', port: 9000, cluster: proxied, proxyProtocol: true },
    { name: 'tcp-53', protocol: 'tcp', port: 53, cluster: 'shop/dns/53' },
  ] as const) {
    model.streamListeners.set(listener.name, listener);
  }
  engine.pass();
  expect(servedTable(model).split('\n')).toEqual([
    'No Ingress is served.',
    '',
    'PORT      SERVICE       PROXY PROTOCOL',
    'tcp/53    shop/dns:53   -',
    'udp/53    shop/dns:53   -',
    'tcp/9000  shop/db:5432  from clients, to the Service',
  ]);
});
