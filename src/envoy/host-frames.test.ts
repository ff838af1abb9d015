import { describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { decode } from './codec.ts';
import { createEncoder } from './encoder.ts';
import { deriveHostFrames } from './host-frames.ts';
import { createTestModel, forward, host, respond, TO_HTTPS } from './testing.ts';

const WILD = '*.example.com';

function setUp() {
  const engine = new Engine();
  const { virtualHosts } = createTestModel(engine);
  const encoder = createEncoder();
  const frames = deriveHostFrames(engine, virtualHosts, encoder);
  const settle = () => expect(engine.pass().failures).toEqual([]);
  virtualHosts.set('*', host('*', respond('/', 404)));
  virtualHosts.set(WILD, host(WILD, forward('/', 'wild')));
  virtualHosts.set('shop.example.com', host('shop.example.com', forward('/', 'web')));
  settle();
  /** `forward` or the status of every route of a host in a table. */
  const routes = (table: 'http' | 'https', name: string) => {
    const { bytes } = frames[table].get(name)!;
    const { virtual_hosts } = decode('envoy.config.route.v3.RouteConfiguration', bytes);
    return (virtual_hosts?.[0]?.routes ?? []).map(({ route, direct_response }) =>
      route ? 'forward' : String(direct_response?.status),
    );
  };
  const encodes = () => encoder.counters()['VirtualHost'] ?? 0;
  return { virtualHosts, frames, settle, routes, encodes };
}

describe('a wildcard host', () => {
  test('is followed by the routes of the default server, one frame for both tables', () => {
    const { frames, routes } = setUp();
    expect(routes('https', WILD)).toEqual(['forward', '400', '404']);
    expect(frames.http.get(WILD)).toBe(frames.https.get(WILD));
  });

  test('differs between the tables when the default server does', () => {
    const { virtualHosts, settle, routes } = setUp();
    virtualHosts.set('*', host('*', forward('/', 'any', TO_HTTPS)));
    settle();
    expect(routes('https', WILD)).toEqual(['forward', '400', 'forward']);
    expect(routes('http', WILD)).toEqual(['forward', '400', '308']);
  });

  test('and its own redirect leaves the default server alone', () => {
    const { virtualHosts, settle, routes } = setUp();
    virtualHosts.set(WILD, host(WILD, forward('/', 'wild', TO_HTTPS)));
    settle();
    expect(routes('http', WILD)).toEqual(['308', '400', '404']);
    expect(routes('https', WILD)).toEqual(['forward', '400', '404']);
  });

  test('carries no route of the default server that Envoy would refuse', () => {
    const { virtualHosts, settle, routes, frames } = setUp();
    virtualHosts.set('*', host('*', respond('/big', 404, 'x'.repeat(5000)), respond('/', 404)));
    settle();
    expect(routes('https', WILD)).toEqual(['forward', '400', '503', '404']);
    expect(frames.https.get(WILD)?.diagnostics).toEqual([]);
    expect(frames.https.get('*')?.diagnostics).toHaveLength(1);
  });
});

test('a change of the default server encodes it and the wildcard hosts, no other', () => {
  const { virtualHosts, settle, encodes } = setUp();
  const before = encodes();
  virtualHosts.set('*', host('*', respond('/x', 503), respond('/', 404)));
  settle();
  expect(encodes() - before).toBe(2);
});
