/** The results as text. */
import { cpus } from 'node:os';
import { changeKinds } from './changes.ts';
import type { SizeResult } from './measure.ts';
import type { Summary } from './statistics.ts';

export function describeMachine(envoyVersion: string): string {
  const [{ model } = { model: 'unknown processor' }, ...others] = cpus();
  return `${others.length + 1} × ${model}, Node ${process.versions.node}, Envoy ${envoyVersion} with one worker`;
}

/** Every figure is `median (max)`. */
export function describeSize({ variant, ingresses, start, changes, memory }: SizeResult): string {
  return [
    `${whole(ingresses)} Ingresses, ${variant}`,
    '',
    table([
      ['cold start, ms', 'boot', 'decode', 'first build', 'sync to ACK', 'last host', 'CPU', 'Envoy CPU', 'bytes sent'],
      [
        '',
        ...[start.boot, start.decode, start.build, start.ackMs, start.servedMs, start.cpuMs, start.envoyMs].map(time),
        whole(start.bytes.median),
      ],
    ]),
    '',
    table([
      ['change, ms', 'CPU', 'ACK', 'Envoy answers', 'Envoy CPU', 'bytes sent', 'resources', 'units', 'encodes'],
      ...changeKinds.map((kind) => {
        const { cpuMs, ackMs, seenMs, envoyMs, bytes, resources, units, encodes } = changes[kind];
        const counts = [bytes, resources, units, encodes].map(({ median }) => whole(median));
        return [kind, ...[cpuMs, ackMs, seenMs, envoyMs].map(time), ...counts];
      }),
    ]),
    '',
    `Resident memory: control plane ${megabytes(memory.controlPlaneResident)}, Envoy ${megabytes(memory.envoyResident)}; ` +
      `the control plane holds ${(memory.perIngress / 1024).toFixed(1)} KB per Ingress`,
  ].join('\n');
}

export function time({ median, max }: Summary): string {
  return `${decimal(median)} (${decimal(max)})`;
}

export function decimal(value: number): string {
  return value < 100 ? value.toFixed(1) : whole(value);
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

export function megabytes(bytes: number): string {
  return `${whole(bytes / 1024 / 1024)} MB`;
}

/** The first column to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
