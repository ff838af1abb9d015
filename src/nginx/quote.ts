/**
 * Text in an nginx configuration. Every token is written between double quotes, so nothing that a user writes can end a
 * directive; what else has a meaning inside the quotes depends on the context, so text says which one it is for.
 */

/** Text for a parameter in which nginx expands no variables: the path of a location, a server name, the key of a map. */
export class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  equals(other: Literal): boolean {
    return this.text === other.text;
  }
}

/** A regular expression that the emitter made; parts that come from users were passed through `escapeRegex`. */
export class Pattern {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  equals(other: Pattern): boolean {
    return this.source === other.source;
  }
}

/** Literal text, a variable of nginx by its name, or what a group of a regular expression matches (1 to 9). */
export type ExpandedPart = string | { readonly variable: string } | { readonly capture: number };

/** Text in which variables of nginx are meant. */
export class Expanded {
  readonly parts: readonly ExpandedPart[];

  constructor(parts: readonly ExpandedPart[]) {
    this.parts = parts;
  }

  /** Whether it holds the path of a request, or a group of it: nginx decodes them. */
  holds(what: 'path' | 'group'): boolean {
    return this.parts.some(
      (part) =>
        typeof part === 'object' && ('capture' in part ? what === 'group' : what === 'path' && part.variable === 'uri'),
    );
  }

  equals(other: Expanded): boolean {
    return JSON.stringify(this.parts) === JSON.stringify(other.parts);
  }
}

/** What can be written as one token. */
export type NginxParameter = string | number | Literal | Pattern | Expanded;

/** The configuration of nginx that stands for a `$` where variables are expanded. It is defined in the template. */
export const DOLLAR_VARIABLE = 'ingress_dollar';

/**
 * A value as one token of the configuration. Plain text is made safe for the worst case: a parameter in which nginx expands
 * variables, so that each `$` has to be written by a variable of its own.
 * @throws TypeError for what is no text, number, `Literal` or `Pattern`, and for text with a NUL, which would end it in nginx.
 */
export function quote(value: unknown): string {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'string') return quoted(value).replaceAll('$', DOLLAR);
  if (value instanceof Expanded) return `"${value.parts.map(writePart).join('')}"`;
  if (value instanceof Literal) return quoted(value.text);
  if (value instanceof Pattern) return quoted(value.source);
  throw new TypeError(`${value === undefined ? 'a value that is not there' : typeof value} cannot be written`);
}

const DOLLAR = `\${${DOLLAR_VARIABLE}}`;

function quoted(text: string): string {
  return `"${escaped(text)}"`;
}

function writePart(part: ExpandedPart): string {
  if (typeof part === 'string') return escaped(part).replaceAll('$', DOLLAR);
  // nginx reads one digit, and knows no braces around it.
  return 'capture' in part ? `$${part.capture}` : `\${${part.variable}}`;
}

function escaped(text: string): string {
  if (text.includes('\0')) throw new TypeError(`${JSON.stringify(text)} has a NUL in it`);
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}

/** Text as the part of a regular expression that matches just it. */
export function escapeRegex(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_/-]/g, (character) =>
    character.codePointAt(0)! < 128 ? `\\${character}` : character,
  );
}
