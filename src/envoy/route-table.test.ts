import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine, type Table } from '../derive.ts';
import { DEFAULT_SETTINGS, type ProxySettings, SETTINGS } from '../model/settings.ts';
import { encode } from './codec.ts';
import { encodeFrame, sameFrame } from './frame.ts';
import type { EncodedResource } from './resource.ts';
import { createRouteTable, routeTableMessage } from './route-table.ts';
import { forward, host } from './testing.ts';
import { virtualHostMessage } from './virtual-host.ts';
import { createEncoder } from './wire-encoder.ts';

/** A table over hosts that each forward to one service. */
function setUp() {
  const engine = new Engine();
  const encoder = createEncoder();
  const services = engine.input<string>('service');
  const frames = engine.derive(
    'frame',
    services,
    (name, read) => encodeFrame(encoder, host(name, forward('/', read(services, name)!))),
    sameFrame,
  );
  const settings = engine.input<ProxySettings>('settings');
  settings.set(SETTINGS, DEFAULT_SETTINGS);
  const table = createRouteTable(engine, 'https', frames, { encoder, settings, origin: () => [] });
  const apply = (changes: Record<string, string | undefined>): EncodedResource => {
    for (const [name, service] of Object.entries(changes)) services.set(name, service);
    engine.pass();
    return current(table);
  };
  return { apply, encoder };
}

function current(table: Table<EncodedResource>): EncodedResource {
  return table.get('https')!;
}

function wholeTable(services: ReadonlyMap<string, string>): Buffer {
  const hosts = [...services].sort(([a], [b]) => (a < b ? -1 : 1));
  const virtual_hosts = hosts.map(([name, service]) => virtualHostMessage(host(name, forward('/', service))));
  return Buffer.from(
    encode('envoy.config.route.v3.RouteConfiguration', { ...routeTableMessage('https'), virtual_hosts }),
  );
}

const name = fc.constantFrom('a.example.com', 'b.example.com', 'c.example.com', '*');
const changes = fc.dictionary(name, fc.option(fc.constantFrom('web', 'api'), { nil: undefined }), { maxKeys: 3 });

describe('a route table', () => {
  test('is, byte for byte, the encoding of the whole, now and for as long as somebody keeps it', () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 8 }), (steps) => {
        const { apply } = setUp();
        const services = new Map<string, string>();
        const kept: [EncodedResource, Buffer][] = [];
        for (const step of steps) {
          for (const [host, service] of Object.entries(step)) {
            if (service === undefined) services.delete(host);
            else services.set(host, service);
          }
          kept.push([apply(step), wholeTable(services)]);
        }
        for (const [resource, expected] of kept) expect(Buffer.from(resource.bytes()).equals(expected)).toBe(true);
      }),
    );
  });

  test('has a version that tells the content and not how it came about', () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 8 }), fc.array(changes, { maxLength: 8 }), (one, other) => {
        const [a, b] = [setUp(), setUp()];
        const first = one.reduce((_, step) => a.apply(step), a.apply({}));
        const second = other.reduce((_, step) => b.apply(step), b.apply({}));
        const equal = Buffer.from(first.bytes()).equals(Buffer.from(second.bytes()));
        expect(first.version === second.version).toBe(equal);
      }),
    );
  });

  test('is the same resource when a change is taken back within a pass', () => {
    const { apply } = setUp();
    const before = apply({ 'a.example.com': 'web' });
    expect(apply({ 'a.example.com': 'web' })).toBe(before);
    expect(apply({ 'a.example.com': 'api' }).version).not.toBe(before.version);
    expect(apply({ 'a.example.com': 'web' }).version).toBe(before.version);
  });

  test('is there without hosts', () => {
    expect(setUp().apply({}).bytes().length).toBeGreaterThan(0);
  });

  test('is put together only for who asks, and once', () => {
    const { apply, encoder } = setUp();
    apply({ 'a.example.com': 'web' });
    const resource = apply({ 'b.example.com': 'web' });
    expect(encoder.counters()).toEqual({ VirtualHost: 2 });
    expect(resource.bytes()).toBe(resource.bytes());
    expect(encoder.counters()).toEqual({ VirtualHost: 2, RouteConfiguration: 1 });
  });
});
