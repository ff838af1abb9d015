import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Pair, type YAMLMap } from 'yaml';

/** Counted from 0, unlike the `SourcePosition` that users see. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

export type PositionAt = (offset: number) => TextPosition;

/** The positions of a text. Its lines are found once: texts may hold thousands of objects, each with a position. */
export function createPositions(text: string): PositionAt {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    const line = lastAtMost(starts, offset);
    return { line, column: offset - (starts[line] ?? 0) };
  };
}

/** The index of the last of the sorted numbers that is not above `limit`; the first one never is. */
function lastAtMost(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= limit) low = middle;
    else high = middle;
  }
  return low;
}

interface Step {
  readonly offset: number;
  readonly node: unknown;
  readonly rest: string;
}

/**
 * Where a field such as `spec.rules[0].host` stands: its value if that is a scalar, else its key or list item; of a field
 * that is absent, the nearest thing around it. Keys that hold dots may stand bare, in brackets, or in brackets and quotes.
 */
export function offsetOf(tree: Document.Parsed, field: string): number {
  let node: unknown = tree.contents;
  let offset = startOf(node) ?? 0;
  let rest = field;
  while (rest !== '') {
    if (isAlias(node)) node = node.resolve(tree);
    const step = isMap(node) ? intoMap(node, rest) : isSeq(node) ? intoList(node.items, rest) : undefined;
    if (step === undefined) break;
    ({ node, offset, rest } = step);
  }
  return offset;
}

/** The longest key that `path` begins with. */
function intoMap(map: YAMLMap, path: string): Step | undefined {
  const bare = path.startsWith('.') ? path.slice(1) : path;
  let best: { readonly pair: Pair; readonly rest: string } | undefined;
  for (const pair of map.items) {
    if (!isScalar(pair.key)) continue;
    const rest = afterKey(bare, String(pair.key.value));
    if (rest !== undefined && (best === undefined || rest.length < best.rest.length)) best = { pair, rest };
  }
  if (best === undefined) return undefined;
  const { pair, rest } = best;
  const offset = startOf(isScalar(pair.value) ? pair.value : pair.key) ?? startOf(pair.key);
  return offset === undefined ? undefined : { offset, node: pair.value, rest };
}

function afterKey(path: string, key: string): string | undefined {
  const forms = [key, `[${key}]`, `[${JSON.stringify(key)}]`];
  const form = forms.find((text) => path.startsWith(text) && /^$|^[.[]/.test(path.slice(text.length)));
  return form === undefined ? undefined : path.slice(form.length);
}

function intoList(items: readonly unknown[], path: string): Step | undefined {
  const index = /^\[(\d+)\]/.exec(path);
  const node = items[Number(index?.[1])];
  const offset = startOf(node);
  if (index === null || offset === undefined) return undefined;
  return { offset, node, rest: path.slice(index[0].length) };
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
