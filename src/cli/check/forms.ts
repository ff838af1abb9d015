import { checkMarkdown } from './markdown.ts';
import type { CheckReport } from './report.ts';
import { checkSarif } from './sarif.ts';
import { checkText } from './text.ts';

const FORMS = {
  text: checkText,
  json: (report: CheckReport) => `${JSON.stringify(report, null, 2)}\n`,
  markdown: checkMarkdown,
  sarif: checkSarif,
} satisfies Readonly<Record<string, (report: CheckReport) => string>>;

/** The report as `--output` asks for it. */
export function write(report: CheckReport, form: keyof typeof FORMS): string {
  return FORMS[form](report);
}
