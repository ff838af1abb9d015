/** Every annotation that takes effect stands in a golden case, once with a value that is read and once with one that is not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { annotationFeatures } from '../src/ingress/annotations/index.ts';
import type { Codec } from '../src/ingress/declaration/codec.ts';
import { isEffective } from '../src/ingress/declaration/support.ts';
import { canBeInvalid } from './annotations/table.ts';
import { CASES_FOLDER, caseNames } from './golden/cases.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';

/** The values of each annotation in all golden cases, by name without prefix. */
const values = new Map<string, string[]>();
for (const name of caseNames()) {
  for (const document of parseAllDocuments(readFileSync(join(CASES_FOLDER, name, 'in.yaml'), 'utf8'))) {
    const object = document.toJS() as { metadata?: { annotations?: Readonly<Record<string, unknown>> } } | null;
    for (const [key, value] of Object.entries(object?.metadata?.annotations ?? {})) {
      if (!key.startsWith(PREFIX)) continue;
      const annotation = key.slice(PREFIX.length);
      values.set(annotation, [...(values.get(annotation) ?? []), String(value)]);
    }
  }
}

const effective = annotationFeatures
  .flatMap(({ keys }) => Object.entries(keys))
  .filter(([, { envoy, nginx }]) => isEffective(envoy) || isEffective(nginx));

test.each(effective)('%s', (name, { codec, alias = name }) => {
  const all = [name, alias].flatMap((one) => values.get(one) ?? []);
  const isRead = (value: string) => 'value' in codec.decode(value.trim());
  expect(all.some(isRead), 'a value that is read').toBe(true);
  if (canBeInvalid(codec as Codec<unknown>))
    expect(
      all.some((value) => !isRead(value)),
      'one that is not',
    ).toBe(true);
});
