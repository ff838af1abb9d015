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
