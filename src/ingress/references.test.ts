import { expect, test } from 'vitest';
import { referencesOf, referencesOfConfigMap } from './references.ts';

const PREFIX = 'nginx.ingress.kubernetes.io';
const meta = { namespace: 'shop', name: 'web', creationTimestamp: 0 };

function refsOf(annotations: Record<string, string>, secretNames: readonly string[] = []) {
  const tls = secretNames.map((secretName) => ({ hosts: [], secretName }));
  const refs = referencesOf({ kind: 'Ingress', ...meta, annotations, rules: [], tls }, PREFIX);
  return refs.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
}

test('an Ingress refers to the Secrets of its TLS, each once', () => {
  expect(refsOf({}, ['a', 'b', 'a', ''])).toEqual(['Secret shop/a', 'Secret shop/b']);
});

test('an Ingress refers to what its annotations name, in its own namespace or another', () => {
  expect(refsOf({ [`${PREFIX}/custom-headers`]: ' headers ' })).toEqual(['ConfigMap shop/headers']);
  expect(refsOf({ [`${PREFIX}/custom-headers`]: 'other/headers' })).toEqual(['ConfigMap other/headers']);
  expect(refsOf({ [`${PREFIX}/custom-headers`]: 'no name', 'example.com/custom-headers': 'a' })).toEqual([]);
});

test('the ConfigMap refers to what its keys name', () => {
  const data = { 'add-headers': 'system/answers', 'proxy-set-headers': 'bare', 'hide-headers': 'a/b' };
  expect(referencesOfConfigMap({ kind: 'ConfigMap', ...meta, data })).toEqual([
    { kind: 'ConfigMap', namespace: 'system', name: 'answers' },
  ]);
});
