import { describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { DEFAULT_SETTINGS, SETTINGS } from '../model/settings.ts';
import { decode } from './codec.ts';
import { deriveHostFrames } from './host-frames.ts';
import { createTestModel, forward, host, respond, TO_HTTPS } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

const WILD = '*.example.com';

function setUp() {
  const engine = new Engine();
  const model = createTestModel(engine);
  const { virtualHosts, settings } = model;
  const encoder = createEncoder();
  const frames = deriveHostFrames(engine, model, encoder);
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
  return { virtualHosts, settings, frames, settle, routes, encodes };
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

describe('where requests say by themselves that they came over https', () => {
  test('both tables show the redirect before what it leads to, in one frame', () => {
    const { virtualHosts, settings, settle, routes, frames } = setUp();
    virtualHosts.set('shop.example.com', host('shop.example.com', forward('/', 'web', TO_HTTPS)));
    settle();
    expect(routes('http', 'shop.example.com')).toEqual(['308']);
    const forwarded = { ...DEFAULT_SETTINGS.forwarded, trustsHeaders: true };
    settings.set(SETTINGS, { ...DEFAULT_SETTINGS, forwarded });
    settle();
    expect(routes('https', 'shop.example.com')).toEqual(['308', 'forward']);
    expect(frames.http.get('shop.example.com')).toBe(frames.https.get('shop.example.com'));
  });

  test('hosts without a redirect stay as they are, and other settings reach none', () => {
    const { settings, settle, frames, encodes } = setUp();
    const before = frames.https.get('shop.example.com');
    const http = { ...DEFAULT_SETTINGS.http, underscoresInHeaders: true };
    settings.set(SETTINGS, { ...DEFAULT_SETTINGS, http });
    const encoded = encodes();
    settle();
    expect(encodes()).toBe(encoded);
    settings.set(SETTINGS, { ...DEFAULT_SETTINGS, listener: { ipv6: true, proxyProtocol: { timeoutSeconds: 5 } } });
    settle();
    expect(frames.https.get('shop.example.com')).toBe(before);
  });
});
