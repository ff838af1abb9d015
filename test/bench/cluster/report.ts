/** The results as the tables of docs/performance.md. */
import { decimal, megabytes, time, whole } from '../report.ts';
import { type ClusterResult, clusterChanges } from './measure.ts';

export function describeClusterAsMarkdown(machine: string, results: readonly ClusterResult[]): string {
  return [
    `From one machine: ${machine}, with the API server and etcd beside it.`,
    '',
    '| Ingresses | ready, ms | last host, ms | CPU, s | control plane | for each Ingress | Secrets held | lists of the start |',
    '|---|---|---|---|---|---|---|---|',
    ...results.map((result) => {
      const { readyMs, servedMs, cpuSeconds, residentBytes, bytesPerIngress, heldSecrets, lists } = result;
      const pages = Object.entries(lists).toSorted(([a], [b]) => (a < b ? -1 : 1));
      return row([
        whole(result.ingresses),
        ...[readyMs, servedMs, cpuSeconds].map(decimal),
        megabytes(residentBytes),
        `${(bytesPerIngress / 1024).toFixed(1)} KB`,
        whole(heldSecrets),
        pages.map(([kind, count]) => `${count} ${kind}`).join(', '),
      ]);
    }),
    '',
    '`median (max)`, milliseconds:',
    '',
    '| Ingresses | change | Envoy answers | ACK | of it after the commit |',
    '|---|---|---|---|---|',
    ...results.flatMap(({ ingresses, changes }) =>
      clusterChanges.map((kind, index) => {
        const { seenMs, ackMs, commitToAckMs } = changes[kind];
        return row([index === 0 ? whole(ingresses) : '', kind, ...[seenMs, ackMs, commitToAckMs].map(time)]);
      }),
    ),
  ].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
