/** `npm run bench -- --cluster` at a small size: it measures what it says, and a start reads every kind once, page by page. */
import { expect, test } from 'vitest';
import { clusterChanges, measureCluster } from '../bench/cluster/measure.ts';
import { describeClusterAsMarkdown } from '../bench/cluster/report.ts';

test('a start reads each kind once in pages of 500, and every kind of change is measured', async () => {
  const [small, result] = await measureCluster({ sizes: [40, 520], repeat: 1 });
  expect(small).toMatchObject({ ingresses: 40, heldSecrets: 20 });
  expect(result).toMatchObject({
    ingresses: 520,
    // All are listed; of those that no Ingress names nothing stays.
    heldSecrets: 260,
    // Two pages each of 520 and more.
    lists: { configmaps: 1, endpointslices: 2, ingressclasses: 1, ingresses: 2, secrets: 2, services: 2 },
  });
  expect(result!.residentBytes).toBeGreaterThan(50 * 1024 * 1024);
  for (const kind of clusterChanges) {
    const { seenMs, ackMs, commitToAckMs } = result!.changes[kind];
    expect([kind, Math.min(seenMs.median, ackMs.median, commitToAckMs.median) > 0]).toEqual([kind, true]);
  }
  const lines = describeClusterAsMarkdown('this machine', [result!]).split('\n');
  expect(lines.filter((line) => line.startsWith('| 520 |'))).toHaveLength(2);
  expect(lines.filter((line) => / NaN|undefined/.test(line))).toEqual([]);
}, 240_000);
