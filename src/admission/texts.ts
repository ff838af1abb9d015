/** Texts for people, kept within what the API server passes on. */

/** The API server cuts longer warnings. */
const MAX_WARNING_LENGTH = 256;
/** Of all warnings together; the API server drops what is beyond. */
const MAX_WARNINGS_LENGTH = 4096;
const MAX_DENIAL_LENGTH = 1024;
const MAX_REASONS = 3;

/** Each warning once, in the given order, as many as the API server passes on; the last one says how many are left out. */
export function limitWarnings(texts: readonly string[]): string[] {
  const warnings = new Set<string>();
  let length = 0;
  for (const [index, text] of texts.entries()) {
    const warning = shorten(text, MAX_WARNING_LENGTH);
    if (warnings.has(warning)) continue;
    length += warning.length;
    if (length > MAX_WARNINGS_LENGTH - MAX_WARNING_LENGTH) {
      return [...warnings, `${texts.length - index} more warnings are not shown`];
    }
    warnings.add(warning);
  }
  return [...warnings];
}

/** Why something is denied, in one sentence: the first reasons, and how many more there are. */
export function joinReasons(reasons: readonly string[]): string {
  const more = reasons.length - MAX_REASONS;
  const text = reasons.slice(0, MAX_REASONS).join('; ');
  const suffix = more > 0 ? `; and ${more} more` : '';
  return `${shorten(text, MAX_DENIAL_LENGTH)}${suffix}`;
}

/** On one line: what comes from a request must not look like a line of its own in a log, and headers take no line ends. */
export function shorten(text: string, maxLength: number): string {
  const line = text.toWellFormed().replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`;
}
