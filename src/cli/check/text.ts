import { describeDiagnostic } from '../report.ts';
import type { CheckReport, KeyReport } from './report.ts';

/** For people at a terminal. */
export function checkText(report: CheckReport): string {
  const { proxy, ingresses, configMap, findings, absent, quirks } = report;
  const lines: string[] = [];
  for (const { ingress, state, annotations } of ingresses) {
    lines.push(`Ingress ${ingress}: ${state}`, ...annotations.map(keyLine));
  }
  if (configMap !== undefined) lines.push(`ConfigMap ${configMap.name}`, ...configMap.keys.map(keyLine));
  lines.push(
    ...section(
      'Findings',
      findings.map((one) => `${one.severity}: ${describeDiagnostic(one)}`),
    ),
  );
  lines.push(
    ...section(
      'Not in the folder',
      absent.map((one) => describeDiagnostic(one)),
    ),
  );
  const reliedUpon = quirks.map(
    ({ annotation, quirk, ingresses: count }) => `${annotation} (${countOf(count, 'Ingress', 'Ingresses')}): ${quirk}`,
  );
  lines.push(...section('Behaviour of ingress-nginx that these manifests rely on', reliedUpon));
  return `${[...lines, '', ...totalLines(report), `Proxy: ${proxy}`].join('\n')}\n`;
}

function keyLine({ name, value, state, note }: KeyReport): string {
  return `  ${state.padEnd(12)} ${name}: ${shorten(value)}${note === undefined ? '' : ` (${note})`}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
}

/** `12 Ingresses: 11 served, 1 refused` and so on. */
export function totalLines({ totals }: CheckReport): string[] {
  const parts = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${count} ${state}`)
      .join(', ');
  const sum = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((all, count) => all + count, 0);
  const line = (counts: Readonly<Record<string, number>>, one: string, many: string) => {
    const all = countOf(sum(counts), one, many);
    return sum(counts) === 0 ? all : `${all}: ${parts(counts)}`;
  };
  return [
    line(totals.ingresses, 'Ingress', 'Ingresses'),
    line(totals.annotations, 'annotation', 'annotations'),
    line(totals.findings, 'finding', 'findings'),
  ];
}

function countOf(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

const SHOWN = 60;

/** On one line, without what would move the cursor. */
export function shorten(value: string): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text;
}
