/** How values of annotations and ConfigMap keys are read: as ingress-nginx reads them. */

/** The trimmed value; a value that is empty or white space counts as absent. */
export function contentOf(values: Readonly<Record<string, string>>, key: string): string | undefined {
  const content = Object.hasOwn(values, key) ? values[key]?.trim() : undefined;
  return content === '' ? undefined : content;
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Go's `ParseBool`: `yes` and `on` are no booleans, and give `undefined`. */
export function parseBool(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}
