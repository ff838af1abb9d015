/** YAML (and JSON, which is YAML) text to plain values, with limits against hostile input. */
import {
  CORE_SCHEMA,
  constructFromEvents,
  defineScalarTag,
  floatCoreTag,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
} from 'js-yaml';
import { explainFault, type SyntaxFault } from './yaml-fault.ts';
import { treeOf, type YamlNode } from './yaml-tree.ts';

/** One document of a file, cut out without being parsed. */
export interface DocumentText {
  readonly text: string;
  /** Line of the file on which the text starts, from 0. */
  readonly startLine: number;
}

/** `value` is `undefined`, and `tree` mostly too, for an empty document. */
export type ParsedValue =
  | { readonly value: unknown; readonly tree: YamlNode | undefined }
  | { readonly fault: SyntaxFault };

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

const OLD_BOOLEAN = /^(?:y|Y|n|N|yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$/;

/** What the API server's YAML reader takes for a boolean and YAML 1.2 does not. */
const oldBooleanTag = defineScalarTag('tag:yaml.org,2002:bool', {
  implicit: true,
  implicitFirstChars: [...'yYoOnNtTfF'],
  resolve: (text) => {
    if (/^(?:true|True|TRUE)$/.test(text)) return true;
    if (/^(?:false|False|FALSE)$/.test(text)) return false;
    return OLD_BOOLEAN.test(text) ? /^(?:y|yes|on)$/i.test(text) : NOT_RESOLVED;
  },
  identify: () => false,
});

const NUMBER_CHARACTERS = [...'+-0123456789'];

/** `010` is 8, `0b11` 3 and `1_000` 1000, as for kubectl; `1:30` is text, and `08`, which is not octal, a decimal number. */
const oldIntegerTag = defineScalarTag('tag:yaml.org,2002:int', {
  implicit: true,
  implicitFirstChars: NUMBER_CHARACTERS,
  resolve: (text) => {
    const plain = text.replaceAll('_', '');
    const digits = plain.replace(/^[-+]/, '');
    const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
    if (!/^\d[\da-z]*$/i.test(digits) || !Number.isInteger(value) || /^\d+e/i.test(digits)) return NOT_RESOLVED;
    return plain.startsWith('-') ? -value : value;
  },
  identify: () => false,
});

const oldFloatTag = defineScalarTag('tag:yaml.org,2002:float', {
  implicit: true,
  implicitFirstChars: ['.', ...NUMBER_CHARACTERS],
  resolve: (text, ...more) =>
    floatCoreTag.resolve(text.replace(text.startsWith('.') ? /(?<=\d)_(?=\d)/g : /_/g, ''), ...more),
  identify: () => false,
});

const schema = CORE_SCHEMA.withTags(mergeTag, oldBooleanTag, oldIntegerTag, oldFloatTag);

/** How often the aliases of a document may be expanded, all together: against documents that grow exponentially. */
const MAX_ALIASES = 100;
/** How many values a document with aliases may hold once they are expanded. */
const MAX_EXPANDED_VALUES = 1_000_000;

/** The plain value of one document: `undefined` for an empty one. Messages never quote the text, which may be secret. */
export function parseValue(text: string): ParsedValue {
  const nul = text.indexOf('\0');
  if (nul >= 0) return { fault: { message: 'A zero byte: this is no text', offset: nul } };
  try {
    const events = parseEvents(text, {});
    const [value] = constructFromEvents(events, { source: text, schema, maxAliases: MAX_ALIASES });
    if (text.includes('*') && holdsMoreThan(value, MAX_EXPANDED_VALUES)) {
      return { fault: { message: 'Aliases that contain themselves, or expand to too many values', offset: 0 } };
    }
    return { value: value ?? undefined, tree: treeOf(text, events) };
  } catch (error) {
    return { fault: explainFault(text, error) };
  }
}

/** The tree of a text that has been parsed before. */
export function parseTree(text: string): YamlNode | undefined {
  return treeOf(text, parseEvents(text, {}));
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
