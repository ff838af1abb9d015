import { describeRef } from '../../model/object-ref.ts';
import { type CheckReport, type KeyReport, keyStates } from './report.ts';
import { shorten, totalLines } from './text.ts';

/** For a pull request or a wiki. */
export function checkMarkdown(report: CheckReport): string {
  const { proxy, ingresses, configMap, findings, absent, quirks } = report;
  const lines = [
    `# Ingresses on ${proxy === 'envoy' ? 'Envoy' : 'nginx'}`,
    '',
    ...totalLines(report).map((line) => `- ${line}`),
    '',
    ...table(
      'Ingresses',
      ['Ingress', 'State', ...keyStates],
      ingresses.map(({ ingress, state, annotations }) => [
        code(ingress),
        state,
        ...keyStates.map((wanted) => {
          const count = annotations.filter((key) => key.state === wanted).length;
          return count === 0 ? '' : String(count);
        }),
      ]),
    ),
    ...table(
      'Annotations that are not simply honoured',
      ['Ingress', 'Annotation', 'Value', 'State', 'Why'],
      ingresses.flatMap(({ ingress, annotations }) =>
        annotations.filter(notPlain).map((key) => [code(ingress), ...cells(key)]),
      ),
    ),
    ...(configMap === undefined
      ? []
      : table(`ConfigMap ${configMap.name}`, ['Key', 'Value', 'State', 'Why'], configMap.keys.map(cells))),
    ...table(
      'Findings',
      ['Severity', 'Where', 'What'],
      findings.map(({ severity, ref, field, source, message, code: id }) => [
        severity,
        [source && `${source.file}:${source.line}`, ref && code(describeRef(ref)), field && code(field)]
          .filter(Boolean)
          .join(' '),
        `${message} (${id})`,
      ]),
    ),
    ...table(
      'Not among the manifests',
      ['Ingress', 'What'],
      absent.map(({ ref, message }) => [ref === undefined ? '' : code(describeRef(ref)), message]),
    ),
    ...table(
      'Behaviour of ingress-nginx that these manifests rely on',
      ['Annotation', 'Ingresses', 'What'],
      quirks.map(({ annotation, quirk, ingresses: count }) => [code(annotation), String(count), quirk]),
    ),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function notPlain({ state }: KeyReport): boolean {
  return state !== 'honoured';
}

function cells({ name, value, state, note = '' }: KeyReport): string[] {
  return [code(name), code(shorten(value)), state, note];
}

function code(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const row = (values: readonly string[]) =>
    `| ${values.map((value) => value.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [`## ${title}`, '', row(head), row(head.map(() => '---')), ...rows.map(row), ''];
}
