import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { changeKinds } from './changes.ts';
import type { SizeResult } from './measure.ts';
import { describeSize, table } from './report.ts';
import { median, summarizeAll } from './statistics.ts';

const run = promisify(execFile);
const main = join(import.meta.dirname, 'main.ts');

test('every kind of change is measured, with a real Envoy', async () => {
  const args = [main, '--sizes', '4', '--repeat', '1', '--starts', '1', '--json'];
  const { stdout } = await run(process.execPath, args);
  const { results } = JSON.parse(stdout) as { readonly results: readonly SizeResult[] };
  expect(results.map(({ ingresses, variant }) => [ingresses, variant])).toEqual([
    [4, 'defaults'],
    [4, '--route-sharding --tls-on-demand'],
  ]);
  for (const result of results) {
    expect(Object.keys(result.changes)).toEqual([...changeKinds]);
    for (const cost of Object.values(result.changes)) {
      for (const [field, { median }] of Object.entries(cost)) expect(median, field).toBeGreaterThanOrEqual(0);
      expect(cost.seenMs.median).toBeGreaterThan(0);
    }
    // An endpoint is one unit of the model, one message and one resource.
    expect(result.changes.endpoint).toMatchObject({ resources: { median: 1 }, encodes: { median: 1 } });
    expect(describeSize(result)).toContain('the control plane holds');
  }
}, 240_000);

test.each(['--sizes=3', '--repeat=x'])('%s is refused', async (arg) => {
  await expect(run(process.execPath, [main, arg])).rejects.toMatchObject({ code: 2 });
});

describe('statistics', () => {
  test('the median of an even number of values lies between the two in the middle', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([7])]).toEqual([2, 2.5, 7]);
  });

  test('rows are summarized by field', () => {
    expect(summarizeAll([{ a: 1 }, { a: 5 }, { a: 3 }])).toEqual({ a: { median: 3, max: 5 } });
  });
});

test('columns of a table are aligned', () => {
  const rows = [
    ['what', 'ms'],
    ['a path', '1.5'],
  ];
  expect(table(rows)).toBe('what      ms\na path   1.5');
});
