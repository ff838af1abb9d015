/**
 * Why a text is no YAML, in words that help: the library that reads fast says "bad indentation" of most things, so texts that it
 * refuses are looked at by a slower one, which knows what is missing where.
 */
import { YAMLException } from 'js-yaml';
import type { Alias, Document, YAMLMap } from 'yaml';
import { loadYaml } from './load-yaml.ts';

/** Where parsing stopped; `offset` counts from the start of the document's text. */
export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

const TOO_DEEP: SyntaxFault = { message: 'Nested too deeply', offset: 0 };
const MAX_DEPTH = 1000;
const NESTED_ITEMS = /(?:[-?] ){1000}/;
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Never quotes the text, which may be secret.
 * @param error what the reader threw; thrown again if it is about no text
 */
export function explainFault(text: string, error: unknown): SyntaxFault {
  if (error instanceof RangeError) return TOO_DEEP;
  if (!(error instanceof YAMLException)) throw error;
  const { reason, mark } = error;
  if (reason.includes('maxDepth') || nestsTooDeeply(text)) return TOO_DEEP;
  const aliases = /maxAliases \((\d+)\)/.exec(reason);
  if (aliases !== null) return { message: `More than ${aliases[1]} aliases`, offset: 0 };
  return closerLook(text) ?? { message: withoutQuotes(reason), offset: mark?.position ?? 0 };
}

function withoutQuotes(reason: string): string {
  const message = reason.replace(/ ?["<].*$/s, '');
  return message.charAt(0).toUpperCase() + message.slice(1);
}

function closerLook(text: string): SyntaxFault | undefined {
  try {
    // That a key stands twice takes the library quadratic time to see.
    const tree = loadYaml().parseDocument(text, {
      merge: true,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
    });
    return syntaxFault(tree) ?? findFaultyNode(tree);
  } catch (error) {
    if (error instanceof RangeError) return TOO_DEEP;
    throw error;
  }
}

/** What the library would refuse too, only after minutes. Brackets in text count, but nobody leaves so many open. */
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

function syntaxFault(tree: Document.Parsed): SyntaxFault | undefined {
  const problem = tree.errors[0] ?? tree.warnings[0];
  if (problem === undefined) return undefined;
  if (problem.code === 'RESOURCE_EXHAUSTION') return { ...TOO_DEEP, offset: problem.pos[0] };
  return { message: problem.message.replace(/: ".*$/s, ''), offset: problem.pos[0] };
}

/** A key that stands twice in a map, or that is itself a map or list; an alias without anchor. */
function findFaultyNode(tree: Document.Parsed): SyntaxFault | undefined {
  const { isAlias, isCollection, isMap, isPair, isScalar } = loadYaml();
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
  const { isCollection, isScalar } = loadYaml();
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
  const { isAlias, isCollection, isScalar } = loadYaml();
  return (isScalar(node) || isCollection(node) || isAlias(node) ? node.range?.[0] : undefined) ?? 0;
}
