import { expect, test } from 'vitest';
import { readAnnotations } from './annotation-reading.ts';

test.each([
  ['nginx.ingres.kubernetes.io/use-regex', 'nginx.ingress.kubernetes.io/use-regex'],
  ['Nginx.ingress.kubernetes.io/use-regex', 'nginx.ingress.kubernetes.io/use-regex'],
  ['nginx.ingress.kubernetes.oi/auth-url', 'nginx.ingress.kubernetes.io/auth-url'],
  // Nothing of ours stands behind the prefix.
  ['nginx.ingres.kubernetes.io/other', undefined],
  // Of another controller, and of another instance of this one.
  ['haproxy.ingress.kubernetes.io/use-regex', undefined],
  ['nginx2.ingress.kubernetes.io/use-regex', undefined],
  ['use-regex', undefined],
])('%s is taken for %s', (key, suggestion) => {
  const [reading] = readAnnotations({ [key]: 'true' }, 'nginx.ingress.kubernetes.io', 'envoy');
  expect(reading?.outcome).toEqual(suggestion && { kind: 'unknown', suggestion });
});

test('names every annotation, also what is empty or counts under another name', () => {
  const annotations = {
    'allowlist-source-range': ' ',
    'whitelist-source-range': '10.0.0.0/8',
    'limit-allowlist': '10.0.0.0/8',
    'limit-whitelist': '10.0.0.0/16',
    'app-root': '',
    'no-such-key': '',
  };
  const prefix = 'nginx.ingress.kubernetes.io';
  const keyed = Object.fromEntries(Object.entries(annotations).map(([name, text]) => [`${prefix}/${name}`, text]));
  const read = readAnnotations(keyed, prefix, 'envoy').map(({ key, outcome }) => [
    key.slice(prefix.length + 1),
    outcome.kind === 'ignored' ? outcome.why : outcome.kind,
  ]);
  expect(Object.fromEntries(read)).toEqual({
    'allowlist-source-range': 'it is empty, as if it were not there',
    'app-root': 'it is empty, as if it were not there',
    'limit-allowlist': 'valid',
    'limit-whitelist': 'limit-allowlist counts in its place',
    'no-such-key': 'unknown',
    'whitelist-source-range': 'valid',
  });
});
