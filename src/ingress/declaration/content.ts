/**
 * The value as it is read: each line trimmed, without empty lines around it, as ingress-nginx does. A value that is empty or white
 * space counts as absent. What is no text, half a character that takes two, becomes U+FFFD.
 */
export function contentOf(values: Readonly<Record<string, string>>, key: string): string | undefined {
  const written = Object.hasOwn(values, key) ? values[key]?.toWellFormed() : undefined;
  if (written === undefined) return undefined;
  const content = written.includes('\n')
    ? written
        .split('\n')
        .map((line) => line.trim())
        .join('\n')
        .trim()
    : written.trim();
  return content === '' ? undefined : content;
}

/** Control characters, which no value but a snippet may hold. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;
