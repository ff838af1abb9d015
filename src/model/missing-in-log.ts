import type { LogEscape, LogFormat } from './log-format.ts';

/**
 * What stands for the variable at each place of a format where a request has none: `-`, nothing where values are escaped for JSON or
 * not at all, and `null` as a value of its own in a line of JSON, which would be none with nothing there.
 */
export function missingTexts(format: LogFormat, escaping: LogEscape): readonly string[] {
  if (escaping === 'default') return format.map(() => '-');
  if (escaping === 'none' || !isJson(format)) return format.map(() => '');
  let quoted = false;
  return format.map((part) => {
    if (typeof part === 'string') quoted = endsQuoted(part, quoted);
    return quoted ? '' : 'null';
  });
}

/** Whether lines are JSON, once there is a value at each place. */
function isJson(format: LogFormat): boolean {
  try {
    JSON.parse(format.map((part) => (typeof part === 'string' ? part : 'null')).join(''));
    return true;
  } catch {
    return false;
  }
}

/** Whether what follows the text stands in double quotes, where the text itself begins inside of them or not. */
function endsQuoted(text: string, quoted: boolean): boolean {
  const marks = text.match(/\\.|"/g)?.filter((mark) => mark === '"') ?? [];
  return quoted !== (marks.length % 2 === 1);
}
