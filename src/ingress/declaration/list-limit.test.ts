import { expect, test } from 'vitest';
import { makePair } from '../../../test/support/pki.ts';
import { ingress, rule, service, World } from '../testing.ts';

const generated = await makePair(['ingress.local']);
const PREFIX = 'nginx.ingress.kubernetes.io';
const LIST = 'allowlist-source-range';

const networks = Array.from({ length: 1_000 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`).join(',');
const origins = Array.from({ length: 1_000 }, (_, index) => `https://app-${index}.example.com`).join(',');

/** What becomes of an Ingress of so many hosts. */
function build(hosts: number, annotations: Readonly<Record<string, string>>) {
  const world = new World(generated);
  const prefixed = Object.entries(annotations).map(([name, value]) => [`${PREFIX}/${name}`, value]);
  const rules = Array.from({ length: hosts }, (_, index) => rule(`h${index}.example.com`, { '/': 'web:80' }));
  world.apply(service('shop/web'), ingress('shop/web', { annotations: Object.fromEntries(prefixed), rules }));
  const route = world.model.virtualHosts.get('h0.example.com')?.routes[0];
  return { route, messages: world.diagnostics().map(({ message }) => message) };
}

test('a list of addresses that stands on too many hosts closes them', () => {
  const fits = build(50, { [LIST]: networks });
  expect(fits.route).toMatchObject({ action: { kind: 'forward' }, policy: { addresses: { deny: [] } } });
  const { route, messages } = build(51, { [LIST]: networks });
  expect(route?.action).toMatchObject({ kind: 'respond', status: 503 });
  expect(messages).toContain('1,000 items on each of 51 hosts are more than 50,000; its paths answer 503');
});

test('a list of origins that stands on too many hosts lets nobody in', () => {
  const cors = { 'enable-cors': 'true', 'cors-allow-origin': origins };
  expect(build(50, cors).route?.policy.cors?.origins).toHaveLength(1_000);
  const { route, messages } = build(51, cors);
  expect(route?.action.kind).toBe('forward');
  expect(route?.policy.cors).toBeUndefined();
  expect(messages).toContain('1,000 items on each of 51 hosts are more than 50,000; no origin may read answers');
});
