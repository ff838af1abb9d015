/** Holds the declarations of annotations and of keys of the ConfigMap together with the cases that show what they do. */
import { describe, expect, test } from 'vitest';
import { annotationFeatures } from '../src/ingress/annotations/index.ts';
import { configMapKeys } from '../src/ingress/config-map/keys.ts';
import { isEffective } from '../src/ingress/declaration/support.ts';
import { annotationTables } from './annotations/index.ts';
import { canBeInvalid, type KeyCases, PREFIX } from './annotations/table.ts';

const cases = Map.groupBy(
  annotationTables.flatMap(({ keys }) => Object.entries(keys)),
  ([name]) => name,
);
const annotations = annotationFeatures.flatMap(({ keys }) => Object.entries(keys));
const keys = Object.entries(configMapKeys).map(([name, key]) => [`ConfigMap ${name}`, key] as const);
const all = [...annotations, ...keys];

describe.each(all)('%s', (name, declaration) => {
  test('its example is valid', () => {
    expect(declaration.codec.decode(declaration.example)).toHaveProperty('value');
  });

  test('has a default where it falls back to one', () => {
    if (!('whenInvalid' in declaration) || declaration.configMap === undefined) return;
    expect(declaration.default).toBeUndefined();
    expect(configMapKeys).toHaveProperty(declaration.configMap);
  });

  test('is shown by cases if anything is claimed for it', () => {
    if (!isEffective(declaration.envoy)) return;
    const shown = cases.get(name);
    expect(shown, 'no table in test/annotations has cases for it').toBeDefined();
    // A key of the ConfigMap needs more than one table, since each has one ConfigMap.
    const count = (kind: keyof KeyCases) => shown?.reduce((sum, [, list]) => sum + (list[kind]?.length ?? 0), 0);
    expect(count('good'), 'cases of a good value').toBeGreaterThan(0);
    expect(count('default'), 'cases without the key').toBeGreaterThan(0);
    if (canBeInvalid(declaration.codec)) expect(count('bad'), 'cases of a bad value').toBeGreaterThan(0);
  });
});

test('no cases are there for what nobody declares', () => {
  const declared = new Set<string>(all.map(([name]) => name));
  expect([...cases.keys()].filter((name) => !declared.has(name))).toEqual([]);
});

test('what an annotation needs is declared', () => {
  const declared = new Set([...annotations.map(([name]) => name), ...Object.keys(configMapKeys)]);
  expect(annotations.flatMap(([, { needs = [] }]) => needs.filter((name) => !declared.has(name)))).toEqual([]);
});

test('no annotation is declared twice', () => {
  const names = annotations.flatMap(([name, { alias }]) => (alias === undefined ? [name] : [name, alias]));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(names.filter((name) => name.startsWith(PREFIX))).toEqual([]);
});
