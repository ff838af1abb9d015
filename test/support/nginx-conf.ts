/** Reads an nginx configuration by nginx's own rules for tokens, to look at what text has become structure. */

export interface ConfToken {
  readonly text: string;
  readonly quoted: boolean;
}

export interface Directive {
  readonly name: string;
  /** Whether the name is quoted, as keys of a map are. */
  readonly quoted: boolean;
  readonly args: readonly ConfToken[];
  /** What stands between braces; the code of Lua is one token. */
  readonly block?: readonly Directive[];
}

/** nginx refuses what is longer. */
const MAX_TOKEN_BYTES = 4095;

type Lexeme = ConfToken | ';' | '{' | '}';

/** @throws Error for what nginx would refuse to read. */
export function parseConf(text: string): Directive[] {
  const lexemes = lex(text);
  let position = 0;
  const block = (depth: number): Directive[] => {
    const directives: Directive[] = [];
    let tokens: ConfToken[] = [];
    for (;;) {
      const lexeme = lexemes[position++];
      if (lexeme === undefined || lexeme === '}') {
        if (tokens.length > 0 || (lexeme === undefined) !== (depth === 0)) throw new Error('unexpected end of a block');
        return directives;
      }
      if (typeof lexeme === 'object') {
        tokens.push(lexeme);
        continue;
      }
      const [name, ...args] = tokens;
      if (name === undefined) throw new Error(`no directive in front of ${lexeme}`);
      tokens = [];
      directives.push({
        name: name.text,
        quoted: name.quoted,
        args,
        ...(lexeme === '{' && { block: block(depth + 1) }),
      });
    }
  };
  return block(0);
}

function lex(text: string): Lexeme[] {
  const lexemes: Lexeme[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? '';
    if (/\s/.test(character)) at++;
    else if (character === '#') at = endOf(text, '\n', at);
    else if (character === ';' || character === '}') {
      lexemes.push(character);
      at++;
    } else if (character === '{') {
      const last = lexemes.at(-1);
      const isLua = typeof last === 'object' && last.text.endsWith('_by_lua_block');
      if (isLua) {
        const end = endOfLua(text, at);
        lexemes.push({ text: text.slice(at, end), quoted: false }, ';');
        at = end;
      } else {
        lexemes.push('{');
        at++;
      }
    } else if (character === '"' || character === "'") {
      const { token, end } = readQuoted(text, at, character);
      lexemes.push(token);
      at = end;
    } else {
      const [word = ''] = /^(?:\$\{[^}]*\}|[^\s;{])+/.exec(text.slice(at)) ?? [];
      lexemes.push({ text: word, quoted: false });
      at += word.length;
    }
  }
  return lexemes;
}

function readQuoted(text: string, start: number, quote: string): { readonly token: ConfToken; readonly end: number } {
  let value = '';
  let at = start + 1;
  for (;;) {
    const character = text[at];
    if (character === undefined || character === '\0') throw new Error('a quote that is not closed');
    if (character === quote) break;
    if (character === '\\') {
      const next = text[at + 1] ?? '';
      value += { t: '\t', r: '\r', n: '\n', '"': '"', "'": "'", '\\': '\\' }[next] ?? `\\${next}`;
      at += 2;
    } else {
      value += character;
      at++;
    }
  }
  const after = text[at + 1] ?? '';
  if (!/[\s;{)]/.test(after)) throw new Error(`${JSON.stringify(after)} behind a quote`);
  if (Buffer.byteLength(text.slice(start, at + 1)) > MAX_TOKEN_BYTES) throw new Error('too long parameter');
  return { token: { text: value, quoted: true }, end: at + 1 };
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end + mark.length;
}

function endOfLua(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++;
    if (text[at] === '}' && --depth === 0) return at + 1;
  }
  throw new Error('Lua that does not end');
}

/**
 * Every kind of directive in a configuration: where it stands, its name, and its parameters, where `Q` is a quoted one and `N` a
 * number. What is quoted is data; all the rest decides what nginx does.
 */
export function shapesOf(directives: readonly Directive[], above = ''): Set<string> {
  const shapes = new Set<string>();
  for (const { name, quoted, args, block } of directives) {
    const shown = [{ text: name, quoted }, ...args].map((token) =>
      token.quoted ? 'Q' : token.text.replaceAll(/\b\d+\b/g, 'N'),
    );
    const shape = [above, shown.join(' ')].filter(Boolean).join(' > ');
    shapes.add(shape);
    for (const inner of shapesOf(block ?? [], shape)) shapes.add(inner);
  }
  return shapes;
}

/** All directives of a name, wherever they stand. */
export function directivesOf(directives: readonly Directive[], name: string): Directive[] {
  return directives.flatMap((directive) => [
    ...(directive.name === name ? [directive] : []),
    ...directivesOf(directive.block ?? [], name),
  ]);
}
