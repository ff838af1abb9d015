import { describeDiagnostic } from '../describe-diagnostic.ts';
import { visible } from '../visible.ts';
import { type CheckReport, type KeyReport, type KeyState, sameQuirks } from './report.ts';

/** For people at a terminal. */
export function checkText(report: CheckReport): string {
  const { proxy, ingresses, configMap, findings, absent, quirks } = report;
  const lines: string[] = [];
  for (const { ingress, state, annotations } of ingresses) {
    // What is not served meets no differences: what is to be said of its annotations stands with them.
    const line = state === 'refused' ? keyLineWithNote : keyLine;
    lines.push(`Ingress ${ingress}: ${state}`, ...annotations.map(line));
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
      'Not among the manifests',
      absent.map((one) => describeDiagnostic(one)),
    ),
  );
  lines.push(...section('Differences from ingress-nginx', differences(report)));
  const reliedUpon = sameQuirks(quirks).map(([quirk, of]) => {
    const names = of.map(
      ({ annotation, ingresses: count }) => `${annotation} (${countOf(count, 'Ingress', 'Ingresses')})`,
    );
    return `${names.join(', ')}: ${quirk}`;
  });
  lines.push(...section('Behaviour of ingress-nginx that these manifests rely on', reliedUpon));
  return `${[...lines, '', ...totalLines(report), `Proxy: ${proxy}`].map(visible).join('\n')}\n`;
}

function keyLine({ note, ...key }: KeyReport): string {
  return keyLineWithNote(note === undefined || isOfName(key.state) ? key : { ...key, note });
}

function keyLineWithNote({ name, value, state, note }: KeyReport): string {
  return `  ${state.padEnd(12)} ${name}: ${shorten(value)}${note === undefined ? '' : ` (${note})`}`;
}

/** Whether what is to be said is the same for most values of a name, so that once is enough. */
function isOfName(state: KeyState): boolean {
  return state === 'approximated' || state === 'refused';
}

function differences({ ingresses, configMap }: CheckReport): string[] {
  const met = ingresses
    .filter(({ state }) => state !== 'refused')
    .flatMap(({ annotations }) => annotations.filter(({ state }) => isOfName(state)));
  return [
    ...[...Map.groupBy(met, ({ name, note = '' }) => `${name} ${note}`)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, [first, ...more]]) =>
        first === undefined
          ? []
          : [`${first.name} (${countOf(1 + more.length, 'Ingress', 'Ingresses')}): ${first.note ?? ''}`],
      ),
    ...(configMap?.keys ?? [])
      .filter(({ state }) => isOfName(state))
      .map(({ name, note = '' }) => `${name} (ConfigMap): ${note}`),
  ];
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

/** In quotes, and no longer than people read. */
export function shorten(value: string): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text;
}
