import { STDIN } from '../../files/scan.ts';
import { type Diagnostic, diagnosticCodes } from '../../model/diagnostic.ts';
import { describeRef } from '../../model/object-ref.ts';
import { version } from '../version.ts';
import { visible } from '../visible.ts';
import type { CheckReport } from './report.ts';

const LEVELS = { error: 'error', warning: 'warning', info: 'note' } as const;

/** SARIF 2.1.0, which code hosts show beside the lines of the manifests. */
export function checkSarif({ findings, absent }: CheckReport): string {
  const all = [...findings, ...absent.map((one): Diagnostic => ({ ...one, severity: 'info' }))];
  const used = [...new Set(all.map(({ code }) => code))].toSorted();
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'ingress-xds',
            version: version(),
            rules: used.map((id) => ({ id, shortDescription: { text: diagnosticCodes[id] } })),
          },
        },
        results: all.map((one) => result(one, used.indexOf(one.code))),
      },
    ],
  };
  return `${JSON.stringify(log, (_, value: unknown) => (typeof value === 'string' ? visible(value) : value), 2)}\n`;
}

function result({ severity, code, message, ref, field, source }: Diagnostic, ruleIndex: number) {
  const about = [ref && describeRef(ref), field].filter(Boolean).join(' ');
  // The standard input is no place that a code host could show.
  const hasFile = source !== undefined && source.file !== STDIN;
  return {
    ruleId: code,
    ruleIndex,
    level: LEVELS[severity],
    message: { text: about === '' ? message : `${about}: ${message}` },
    ...((hasFile || about !== '') && {
      locations: [
        {
          ...(hasFile && {
            physicalLocation: {
              artifactLocation: { uri: encodeURI(source.file) },
              region: { startLine: source.line, startColumn: source.column },
            },
          }),
          ...(about !== '' && { logicalLocations: [{ fullyQualifiedName: about }] }),
        },
      ],
    }),
  };
}
