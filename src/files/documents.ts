/** YAML (and JSON, which is YAML) text to plain values, with limits against hostile input. */
import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  parseDocument,
  type ScalarTag,
  type YAMLMap,
} from 'yaml';

/** One document of a file, cut out without being parsed. */
export interface DocumentText {
  readonly text: string;
  /** Line of the file on which the text starts, from 0. */
  readonly startLine: number;
}

/** Where parsing stopped; `offset` counts from the start of the document's text. */
export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

/** The syntax tree of a document, for positions. */
export type ParsedTree = Document.Parsed;

export type ParsedValue = { readonly value: unknown; readonly tree: ParsedTree } | { readonly fault: SyntaxFault };

/**
 * The documents of a file. A line that starts with `---` begins one wherever it stands, also inside of block scalars and
 * quotes, so that no parser is needed; directives and comments above it stay with it.
 */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = [];
  let start = 0;
  let startLine = 0;
  let line = 0;
  let onlyPreamble = true;
  const cut = (end: number, nextLine: number) => {
    if (end > start) documents.push({ text: text.slice(start, end), startLine });
    start = end;
    startLine = nextLine;
    onlyPreamble = true;
  };
  for (let at = 0; at < text.length; line++) {
    const newline = text.indexOf('\n', at);
    const next = newline < 0 ? text.length : newline + 1;
    const marker = markerAt(text, at);
    if (marker === '---' && !onlyPreamble) cut(at, line);
    if (marker === '...') cut(next, line + 1);
    else if (!isPreamble(text, at, next)) onlyPreamble = false;
    at = next;
  }
  cut(text.length, line);
  return documents;
}

function markerAt(text: string, at: number): '---' | '...' | undefined {
  const marker = text.startsWith('---', at) ? '---' : text.startsWith('...', at) ? '...' : undefined;
  const after = text[at + 3];
  return after === undefined || after === '\n' || after === '\r' || after === ' ' || after === '\t'
    ? marker
    : undefined;
}

/** A directive, a comment or nothing. */
function isPreamble(text: string, at: number, next: number): boolean {
  const first = text[at];
  return first === '%' || first === '#' || text.slice(at, next).trim() === '';
}

/** What the API server's YAML reader takes for a boolean and YAML 1.2 does not. */
const oldBoolean: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:yes|on)$/i.test(text),
};

/** How often the aliases of a document may be expanded, all together: against documents that grow exponentially. */
const MAX_ALIAS_COUNT = 100;
/** How many values a document with aliases may hold once they are expanded. */
const MAX_EXPANDED_VALUES = 1_000_000;

const MAX_DEPTH = 1000;
const NESTED_ITEMS = /(?:[-?] ){1000}/;
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Problems are part of the tree; `parseValue` looks at them. */
export function parseTree(text: string): ParsedTree {
  return parseDocument(text, {
    merge: true,
    // Quadratic in the library; see `findFaultyKey`.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
    customTags: (tags) => [...tags, oldBoolean],
  });
}

/** The plain value of one document: `undefined` for an empty one. Messages never quote the text, which may be secret. */
export function parseValue(text: string): ParsedValue {
  const nul = text.indexOf('\0');
  if (nul >= 0) return { fault: { message: 'A zero byte: this is no text', offset: nul } };
  if (nestsTooDeeply(text)) return { fault: { message: 'Nested too deeply', offset: 0 } };
  try {
    const tree = parseTree(text);
    const fault = syntaxFault(tree) ?? findFaultyNode(tree);
    return fault === undefined ? expandAliases(tree, text) : { fault };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { fault: { message: 'Nested too deeply', offset: 0 } };
  }
}

/** What the parser would refuse too, only after minutes. Brackets in text count, but nobody leaves so many open. */
function nestsTooDeeply(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPENING_BRACKET || code === OPENING_BRACE) depth++;
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return NESTED_ITEMS.test(text);
}

function expandAliases(tree: ParsedTree, text: string): ParsedValue {
  try {
    const value: unknown = tree.toJS({ maxAliasCount: MAX_ALIAS_COUNT });
    if (!text.includes('*') || !holdsMoreThan(value, MAX_EXPANDED_VALUES)) return { value: value ?? undefined, tree };
    return { fault: { message: 'Aliases that contain themselves, or expand to too many values', offset: 0 } };
  } catch (error) {
    // The library throws for what only shows when aliases and merge keys are expanded.
    if (error instanceof RangeError || !(error instanceof Error)) throw error;
    const tooMany = error.message.startsWith('Excessive alias count');
    return { fault: { message: tooMany ? `More than ${MAX_ALIAS_COUNT} aliases` : error.message, offset: 0 } };
  }
}

function syntaxFault(tree: ParsedTree): SyntaxFault | undefined {
  const problem = tree.errors[0] ?? tree.warnings[0];
  if (problem === undefined) return undefined;
  if (problem.code === 'RESOURCE_EXHAUSTION') return { message: 'Nested too deeply', offset: problem.pos[0] };
  return { message: problem.message.replace(/: ".*$/s, ''), offset: problem.pos[0] };
}

/** A key that stands twice in a map, or that is itself a map or list; an alias without anchor. */
function findFaultyNode(tree: ParsedTree): SyntaxFault | undefined {
  const anchors = new Set<string>();
  const aliases: Alias[] = [];
  const pending: unknown[] = [tree.contents];
  while (pending.length > 0) {
    const node = pending.pop();
    if (isAlias(node)) aliases.push(node);
    else if (isScalar(node) || isCollection(node)) anchors.add(node.anchor ?? '');
    if (isMap(node)) {
      const fault = findFaultyKey(node);
      if (fault !== undefined) return fault;
    }
    if (isCollection(node)) for (const item of node.items) pending.push(isPair(item) ? item.value : item);
  }
  const unknown = aliases.findLast(({ source }) => !anchors.has(source));
  if (unknown === undefined) return undefined;
  return { message: `The alias *${unknown.source} has no anchor`, offset: rangeStart(unknown) };
}

function findFaultyKey(map: YAMLMap): SyntaxFault | undefined {
  const keys = new Set<string>();
  for (const { key } of map.items) {
    if (isCollection(key)) return { message: 'A key must be a scalar, not a map or list', offset: rangeStart(key) };
    if (!isScalar(key)) continue;
    const name = String(key.value);
    if (keys.has(name)) {
      return { message: `The key ${JSON.stringify(name)} stands twice in the same map`, offset: rangeStart(key) };
    }
    keys.add(name);
  }
  return undefined;
}

function rangeStart(node: unknown): number {
  return (isScalar(node) || isCollection(node) || isAlias(node) ? node.range?.[0] : undefined) ?? 0;
}

function holdsMoreThan(root: unknown, limit: number): boolean {
  const pending: unknown[] = [root];
  for (let count = 0; pending.length > 0; count++) {
    if (count > limit || pending.length > limit) return true;
    const value = pending.pop();
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) pending.push(inner);
  }
  return false;
}
