import { describeRef } from '../../model/object-ref.ts';
import { visible } from '../visible.ts';
import { type CheckReport, type KeyReport, keyStates, sameQuirks } from './report.ts';
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
      : table(`ConfigMap ${prose(configMap.name)}`, ['Key', 'Value', 'State', 'Why'], configMap.keys.map(cells))),
    ...table(
      'Findings',
      ['Severity', 'Where', 'What'],
      findings.map(({ severity, ref, field, source, message, code: id }) => [
        severity,
        [source && prose(`${source.file}:${source.line}`), ref && code(describeRef(ref)), field && code(field)]
          .filter(Boolean)
          .join(' '),
        prose(`${message} (${id})`),
      ]),
    ),
    ...table(
      'Not among the manifests',
      ['Ingress', 'What'],
      absent.map(({ ref, message }) => [ref === undefined ? '' : code(describeRef(ref)), prose(message)]),
    ),
    ...table(
      'Behaviour of ingress-nginx that these manifests rely on',
      ['Annotation', 'Ingresses', 'What'],
      sameQuirks(quirks).map(([quirk, of]) => [
        of.map(({ annotation }) => code(annotation)).join(', '),
        of.map(({ ingresses: count }) => String(count)).join(', '),
        prose(quirk),
      ]),
    ),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function notPlain({ state }: KeyReport): boolean {
  return state !== 'honoured';
}

function cells({ name, value, state, note = '' }: KeyReport): string[] {
  return [code(name), code(shorten(value)), state, prose(note)];
}

/** Within backticks nothing counts but these themselves, and what tables make of pipes and of backslashes in front of them. */
function code(text: string): string {
  const shown = visible(text);
  return /[`|\\]/.test(shown) ? `<code>${escaped(shown)}</code>` : `\`${shown}\``;
}

/** What stands in backticks stays code; the rest is no markup, whoever wrote it. */
function prose(text: string): string {
  return visible(text).replace(/`([^`]+)`|[^`]+|`/g, (part, span?: string) =>
    span === undefined ? escaped(part) : code(span),
  );
}

/** Characters that are markup, as entities. Hosts of code look for mentions when these are resolved, so an `@` stands apart. */
function escaped(text: string): string {
  return text.replace(/[\\`*_~[\]<>&|]/g, (character) => `&#${character.charCodeAt(0)};`).replaceAll('@', '@&#8203;');
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const row = (values: readonly string[]) => `| ${values.join(' | ')} |`;
  return [`## ${title}`, '', row(head), row(head.map(() => '---')), ...rows.map(row), ''];
}
