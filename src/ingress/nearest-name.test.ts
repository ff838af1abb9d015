import fc from 'fast-check';
import { distance } from 'fastest-levenshtein';
import { expect, test } from 'vitest';
import { annotationNames } from './annotation-reading.ts';
import { nearestNameIn } from './nearest-name.ts';

const nearest = nearestNameIn(annotationNames);

test.each([
  ['proxy-red-timeout', 'proxy-read-timeout'],
  ['rewrite-tagret', 'rewrite-target'],
  ['cors-alow-origins', 'cors-allow-origin'],
  ['enable-corss', 'enable-cors'],
  ['no-such-thing-at-all', undefined],
  ['x'.repeat(65), undefined],
])('%s: %s', (name, meant) => {
  expect(nearest(name)).toBe(meant);
  expect(nearest(name)).toBe(meant);
});

test('nothing that is near enough is passed over', () => {
  const edit = fc.tuple(fc.nat(), fc.constantFrom('', 'a', 'z', '-', '_x'), fc.boolean());
  fc.assert(
    fc.property(fc.constantFrom(...annotationNames), fc.array(edit, { maxLength: 3 }), (known, edits) => {
      const name = edits.reduce((text, [at, put, replaces]) => {
        const index = at % (text.length + 1);
        return text.slice(0, index) + put + text.slice(index + (replaces ? 1 : 0));
      }, known);
      const most = Math.min(4, Math.max(1, Math.floor(name.length / 5)));
      const least = Math.min(...annotationNames.map((one) => distance(name, one)));
      const found = nearest(name);
      expect(found === undefined ? undefined : distance(name, found)).toBe(least <= most ? least : undefined);
    }),
  );
});

test('a name that was looked for is found at once, and not all of them are kept', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `unknown-annotation-${index}`);
  expect(names.map(nearest).every((found) => found === undefined)).toBe(true);
  expect(nearest('rewrite-tagret')).toBe('rewrite-target');
});
