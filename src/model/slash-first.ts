/** Rewrites whose target begins with a group: `$1` for `/app(/.*)`. Only a result that begins with a slash is a path. */
import { type PatternPart, parsePattern } from './path-pattern.ts';

export interface SlashFirst {
  /** The pattern, narrowed to the paths for which the group begins with a slash; absent where it never does. */
  readonly pattern?: string;
  /** Whether the pattern as it was also takes other paths. */
  readonly others: boolean;
}

/** `undefined` where it cannot be told. */
export function slashFirst(pattern: string, capture: number): SlashFirst | undefined {
  const parsed = parsePattern(pattern);
  if ('reason' in parsed || parsed.alternatives) return undefined;
  const { parts } = parsed;
  const group = nthGroup(parts, capture);
  if (group === undefined) return { others: true };
  const { start, end, nested } = group;
  if (nested) return undefined;
  const repeat = parts[end + 1]?.kind === 'repeat' ? parts[end + 1] : undefined;
  if (repeat !== undefined && repeat.text !== '?') return undefined;
  const alternatives = split(parts.slice(start + 1, end)).map(narrowed);
  if (alternatives.includes(undefined)) return undefined;
  const kept = alternatives.flatMap((one) => (one === undefined || one.text === undefined ? [] : [one.text]));
  const others = repeat !== undefined || alternatives.some((one) => one?.others);
  if (kept.length === 0) return { others };
  const text = (list: readonly PatternPart[]) => list.map((part) => part.text).join('');
  const rest = parts.slice(end + 1 + (repeat === undefined ? 0 : 1));
  return { pattern: `${text(parts.slice(0, start))}(${kept.join('|')})${text(rest)}`, others };
}

function nthGroup(parts: readonly PatternPart[], capture: number) {
  let seen = 0;
  let depth = 0;
  const start = parts.findIndex((part) => {
    if (part.kind === 'close') depth -= 1;
    if (part.kind !== 'open') return false;
    depth += 1;
    if (part.captures) seen += 1;
    return part.captures && seen === capture;
  });
  if (start < 0) return undefined;
  const nested = depth > 1;
  let open = 0;
  const end = parts.findIndex(({ kind }, index) => {
    if (index < start) return false;
    if (kind === 'open') open += 1;
    if (kind === 'close') open -= 1;
    return open === 0;
  });
  return { start, end, nested };
}

/** The alternatives of a group. */
function split(parts: readonly PatternPart[]): PatternPart[][] {
  const alternatives: PatternPart[][] = [[]];
  let depth = 0;
  for (const part of parts) {
    if (part.kind === 'open') depth += 1;
    if (part.kind === 'close') depth -= 1;
    if (part.kind === 'or' && depth === 0) alternatives.push([]);
    else alternatives.at(-1)?.push(part);
  }
  return alternatives;
}

/** What of an alternative begins with a slash. */
function narrowed(parts: readonly PatternPart[]): { readonly text?: string; readonly others: boolean } | undefined {
  const [first, second] = parts;
  // Left out, it would change the numbers of groups behind it.
  if (parts.some((part) => part.kind === 'open' && part.captures) && first?.text !== '/') return undefined;
  if (first === undefined || first.text === '$') return { others: true };
  if (first.kind !== 'byte') return undefined;
  const all = parts.map(({ text }) => text).join('');
  if (all === '.*' || all === '.+') return { text: '/.*', others: true };
  if (second?.kind === 'repeat') return undefined;
  if (first.text === '/') return { text: all, others: false };
  return first.bytes.has(0x2f) ? undefined : { others: true };
}
