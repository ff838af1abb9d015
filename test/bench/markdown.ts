/** The results as the tables and the chart of docs/performance.md. */
import { changeKinds } from './changes.ts';
import type { SizeResult } from './measure.ts';
import { decimal, megabytes, time, whole } from './report.ts';

/** Everything between the two comments of docs/performance.md that say so. */
export function describeAsMarkdown(machine: string, results: readonly SizeResult[]): string {
  const variants = [...new Set(results.map(({ variant }) => variant))];
  return [
    `From one machine: ${machine}. \`median (max)\`, milliseconds.`,
    ...variants.flatMap((variant) => ['', `### ${heading(variant)}`, '', ...changeTable(of(results, variant))]),
    '',
    '### Start and memory',
    '',
    ...startTable(results),
    '',
    '### A path of one host, CPU of Envoy’s main thread',
    '',
    ...chart(variants.map((variant) => of(results, variant))),
  ].join('\n');
}

function of(results: readonly SizeResult[], variant: string): SizeResult[] {
  return results.filter((result) => result.variant === variant);
}

function heading(variant: string): string {
  return variant === 'defaults' ? 'Defaults: one route table per listener' : `\`${variant}\``;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function head(cells: readonly string[]): string[] {
  return [row(cells), `|${cells.map(() => '---|').join('')}`];
}

function changeTable(results: readonly SizeResult[]): string[] {
  const rows = results.flatMap(({ ingresses, changes }) =>
    changeKinds.map((kind, index) => {
      const { cpuMs, ackMs, seenMs, envoyMs, bytes, resources } = changes[kind];
      const times = [cpuMs, ackMs, seenMs, envoyMs].map(time);
      return row([index === 0 ? whole(ingresses) : '', kind, ...times, whole(bytes.median), whole(resources.median)]);
    }),
  );
  return [
    ...head(['Ingresses', 'change', 'CPU', 'ACK', 'Envoy answers', 'Envoy CPU', 'bytes sent', 'resources']),
    ...rows,
  ];
}

function startTable(results: readonly SizeResult[]): string[] {
  const names = ['Ingresses', 'flags', 'last host', 'decode', 'first build', 'CPU', 'Envoy CPU', 'bytes sent'];
  const rows = results.map(({ ingresses, variant, start, memory }) =>
    row([
      whole(ingresses),
      variant === 'defaults' ? 'defaults' : 'for many hosts',
      ...[start.servedMs, start.decode, start.build, start.cpuMs, start.envoyMs].map(({ median }) => decimal(median)),
      whole(start.bytes.median),
      megabytes(memory.controlPlaneResident),
      megabytes(memory.envoyResident),
      `${(memory.perIngress / 1024).toFixed(1)} KB`,
    ]),
  );
  return [...head([...names, 'control plane', 'Envoy', 'held per Ingress']), ...rows];
}

/** A line per variant, in the order of the tables above; Markdown viewers that know Mermaid draw it. */
function chart(variants: readonly (readonly SizeResult[])[]): string[] {
  const values = (results: readonly SizeResult[]) =>
    results.map(({ changes }) => changes.path.envoyMs.median.toFixed(1));
  const sizes = (variants[0] ?? []).map(({ ingresses }) => `"${whole(ingresses)}"`);
  return [
    '```mermaid',
    'xychart-beta',
    `  x-axis "Ingresses" [${sizes.join(', ')}]`,
    '  y-axis "milliseconds"',
    ...variants.map((results) => `  line [${values(results).join(', ')}]`),
    '```',
  ];
}
