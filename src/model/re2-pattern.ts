import { withoutNegativeLookAhead } from './negative-look-ahead.ts';
import { type ParsedPattern, type PathPattern, parsePattern } from './path-pattern.ts';

/** A pattern as far as RE2, the dialect of Envoy, can follow it; `reason` names what it has not. */
export function parseForRe2(pattern: string): ParsedPattern {
  const parsed = parsePattern(pattern);
  if ('reason' in parsed) return parsed;
  const foreign = foreignIn(parsed);
  if (foreign === undefined) return parsed;
  const { index, construct } = foreign;
  const texts = parsed.parts.map(({ text }) => text);
  const without = withoutNegativeLookAhead(texts.join(''), texts.slice(0, index).join('').length);
  const again = without === undefined ? undefined : parsePattern(without);
  if (again === undefined || 'reason' in again || foreignIn(again) !== undefined) return { reason: construct };
  return again;
}

function foreignIn({ parts }: PathPattern): { readonly index: number; readonly construct: string } | undefined {
  const index = parts.findIndex(({ pcreOnly }) => pcreOnly !== undefined);
  const construct = parts[index]?.pcreOnly;
  return construct === undefined ? undefined : { index, construct };
}
