/**
 * `/(?!admin|api/)(.*)` without its look-ahead, which RE2 has not: the same expression, in which what follows is spelt out character
 * by character. Only for look-aheads for words, with everything behind them.
 */

/**
 * @param start where the look-ahead begins
 * @returns `undefined` where something else begins there, or it is of another kind
 */
export function withoutNegativeLookAhead(pattern: string, start: number): string | undefined {
  if (!pattern.startsWith(OPENING, start)) return undefined;
  const end = closingBracket(pattern, start);
  if (end === undefined) return undefined;
  const [, captured, uncaptured, closing = ''] = REST.exec(pattern.slice(end + 1)) ?? [];
  const words = wordsOf(pattern.slice(start + OPENING.length, end));
  // Groups inside never hold anything, but count.
  const groups = pattern.slice(start + OPENING.length, end).match(CAPTURING)?.length ?? 0;
  if (words === undefined || (captured ?? uncaptured) === undefined) return undefined;
  const others = notBeginningWith(words);
  return `${pattern.slice(0, start)}${'()'.repeat(groups)}${captured === undefined ? '(?:' : '('}${others})${closing}`;
}

const OPENING = '(?!';
const CAPTURING = /(?<!\\)\((?!\?)/g;
/** Everything up to the end, in a group or not, and the ends of groups around. */
const REST = /^(?:(\(\.\*\))|(\.\*))\$?(\)*)\$?$/;

function closingBracket(pattern: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === '\\') at += 1;
    else if (character === '(') depth += 1;
    else if (character === ')' && --depth === 0) return at;
  }
  return undefined;
}

const MAX_WORDS = 64;
const MAX_CHARACTERS = 512;
/** A character that stands for itself, a group, the end of the path. */
const ITEM = /([A-Za-z0-9/_~%@:;,=&!'-])|\\([^A-Za-z0-9])|(\((?:\?:)?)|(\$)/y;

/** A `\0` at the end of a word says that the path ends there. */
const END = '\0';

/** All texts that an expression of words and groups of words means; `undefined` if it is more than that. */
function wordsOf(expression: string): readonly string[] | undefined {
  const all = alternatives(expression, 0);
  if (all === undefined || all.end !== expression.length) return undefined;
  const { words } = all;
  const isTooMuch = words.length > MAX_WORDS || words.join('').length > MAX_CHARACTERS;
  return isTooMuch || words.includes('') ? undefined : words.map((word) => word.toLowerCase());
}

interface Words {
  readonly words: readonly string[];
  readonly end: number;
}

function alternatives(expression: string, start: number): Words | undefined {
  const words: string[] = [];
  for (let at = start; ; ) {
    const sequence = sequenceOf(expression, at);
    if (sequence === undefined || words.length > MAX_WORDS) return undefined;
    words.push(...sequence.words);
    if (expression[sequence.end] !== '|') return { words, end: sequence.end };
    at = sequence.end + 1;
  }
}

function sequenceOf(expression: string, start: number): Words | undefined {
  let words: readonly string[] = [''];
  let at = start;
  while (at < expression.length && expression[at] !== '|' && expression[at] !== ')') {
    // What ends such a word adds nothing to it.
    const rest = /^\.\*\$?(?=[|)]|$)/.exec(expression.slice(at));
    if (rest) return { words, end: at + rest[0].length };
    ITEM.lastIndex = at;
    const [whole = '', plain, escaped, group, end] = ITEM.exec(expression) ?? [];
    if (whole === '') return undefined;
    at += whole.length;
    let next: readonly string[] = [plain ?? escaped ?? (end === undefined ? '' : END)];
    if (group !== undefined) {
      const inner = alternatives(expression, at);
      if (inner === undefined || expression[inner.end] !== ')') return undefined;
      next = inner.words;
      at = inner.end + 1;
    }
    words = words.flatMap((word) => (word.endsWith(END) ? [word] : next.map((more) => word + more)));
    if (words.length > MAX_WORDS) return undefined;
  }
  return { words, end: at };
}

/** An expression for everything, up to the end of the path, that begins with none of the words. */
function notBeginningWith(words: readonly string[]): string {
  const longer = Map.groupBy(
    words.filter((word) => word !== END),
    (word) => word.charAt(0),
  );
  const first = [...longer.keys()].toSorted();
  const others = first.length === 0 ? '.' : `[^${first.map(inClass).join('')}]`;
  const parts = [...(words.includes(END) ? [] : ['$']), `${others}.*`];
  for (const character of first) {
    const rests = (longer.get(character) ?? []).map((word) => word.slice(1));
    if (!rests.includes('')) parts.push(`${inClass(character)}(?:${notBeginningWith(rests)})`);
  }
  return parts.join('|');
}

function inClass(character: string): string {
  return /[A-Za-z0-9/_~%@:;,=&!'<>"`#]/.test(character) ? character : `\\${character}`;
}
