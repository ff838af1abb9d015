import type { YamlNode, YamlPair } from './yaml-tree.ts';

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
  readonly node: YamlNode;
  readonly rest: string;
}

/**
 * Where a field such as `spec.rules[0].host` stands: its value if that is a scalar, else its key or list item; of a field
 * that is absent, the nearest thing around it. Keys that hold dots may stand bare, in brackets, or in brackets and quotes.
 */
export function offsetOf(tree: YamlNode | undefined, field: string): number {
  let node = tree;
  let offset = node?.offset ?? 0;
  let rest = field;
  while (rest !== '') {
    if (node?.kind === 'alias') node = node.target;
    const step =
      node?.kind === 'map' ? intoMap(node.pairs, rest) : node?.kind === 'list' ? intoList(node.items, rest) : undefined;
    if (step === undefined) break;
    ({ node, offset, rest } = step);
  }
  return offset;
}

/** The longest key that `path` begins with. */
function intoMap(pairs: readonly YamlPair[], path: string): Step | undefined {
  const bare = path.startsWith('.') ? path.slice(1) : path;
  let best: { readonly pair: YamlPair; readonly rest: string } | undefined;
  for (const pair of pairs) {
    if (pair.key === undefined) continue;
    const rest = afterKey(bare, pair.key);
    if (rest !== undefined && (best === undefined || rest.length < best.rest.length)) best = { pair, rest };
  }
  if (best === undefined) return undefined;
  const { keyOffset, value } = best.pair;
  return { offset: (value.kind === 'scalar' ? value.offset : undefined) ?? keyOffset, node: value, rest: best.rest };
}

function afterKey(path: string, key: string): string | undefined {
  const forms = [key, `[${key}]`, `[${JSON.stringify(key)}]`];
  const form = forms.find((text) => path.startsWith(text) && /^$|^[.[]/.test(path.slice(text.length)));
  return form === undefined ? undefined : path.slice(form.length);
}

function intoList(items: readonly YamlNode[], path: string): Step | undefined {
  const index = /^\[(\d+)\]/.exec(path);
  const node = items[Number(index?.[1])];
  if (index === null || node?.offset === undefined) return undefined;
  return { offset: node.offset, node, rest: path.slice(index[0].length) };
}
