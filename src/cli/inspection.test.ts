import { expect, test } from 'vitest';
import { encode } from '../envoy/codec.ts';
import { typeUrls } from '../xds/resource.ts';
import { SnapshotStore } from '../xds/store.ts';
import { createInspection } from './inspection.ts';

const store = new SnapshotStore();
const secret = encode('envoy.extensions.transport_sockets.tls.v3.Secret', {
  name: 's',
  tls_certificate: {
    certificate_chain: { inline_string: 'chain' },
    private_key: { inline_string: 'very private' },
  },
});
store.commit([
  {
    typeUrl: typeUrls.secret,
    name: 's',
    resource: { name: 's', version: '1', bytes: () => secret, origin: ['shop/web'] },
  },
]);
const inspection = createInspection(store, { streams: () => [] });

test('without a type: how many there are of each', () => {
  expect(inspection.resources(undefined, undefined)).toContainEqual(
    expect.objectContaining({ type: 'secrets', count: 1 }),
  );
});

test.each(['secrets', 'secret', 'Secret', typeUrls.secret])('%s: the resources, with what made them', (type) => {
  expect(inspection.resources(type, undefined)).toEqual([{ name: 's', version: '1', origin: ['shop/web'] }]);
});

test('a resource is shown whole, but for the private key', () => {
  const shown = JSON.stringify(inspection.resources('secrets', 's'));
  expect(shown).toContain('[redacted]');
  expect(shown).not.toContain('very private');
  expect(shown).not.toContain(Buffer.from('very private').toString('base64'));
});

test('what there is not', () => {
  expect(inspection.resources('nothing', undefined)).toBeUndefined();
  expect(inspection.resources('secrets', 'missing')).toBeUndefined();
});
