/** The codecs that several keys share. The sets of characters are those of ingress-nginx. */
import { type Codec, codec, type Decoded } from './codec.ts';

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Go's `ParseBool`: `yes` and `on` are no booleans, and give `undefined`. */
export function parseBool(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

export const boolean: Codec<boolean> = codec('true or false', parseBool);

/** `on` or `off`, as nginx writes it. */
export const onOff: Codec<boolean> = codec('on or off', (text) => {
  if (text === 'on') return true;
  return text === 'off' ? false : undefined;
});

/** Decimal. ingress-nginx takes negative numbers for some keys, where they mean nothing. */
export function integer({
  min = 0,
  max = 2 ** 31 - 1,
  of,
}: {
  readonly min?: number;
  readonly max?: number;
  readonly of?: string;
} = {}): Codec<number> {
  const range = max === 2 ** 31 - 1 ? (min === 0 ? '' : `, at least ${min}`) : ` from ${min} to ${max}`;
  return codec(`a whole number${of === undefined ? '' : ` of ${of}`}${range}`, (text) => {
    if (!/^\+?\d{1,10}$/.test(text)) return undefined;
    const value = Number(text);
    return min <= value && value <= max ? value : undefined;
  });
}

/** Whole seconds without a unit: `60s` is none. */
export const seconds: Codec<number> = integer({ of: 'seconds' });

/** One of these words. */
export function choice<const W extends string>(...words: readonly W[]): Codec<W> {
  return codec(listed(words), (text) => words.find((word) => word === text));
}

/** One of these words in any case; the value is the word as it stands here. */
export function choiceInAnyCase<const W extends string>(...words: readonly W[]): Codec<W> {
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]));
  return codec(`${listed(words)}, in any case`, (text) => byLowerCase.get(text.toLowerCase()));
}

function listed(words: readonly string[]): string {
  const [last = '', ...others] = words.toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(', ')} or ${last}`;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** Bytes, from a number with `k`, `m`, `g` or nothing behind it. Spaces do not count. */
export const size: Codec<number> = codec('a size such as 8k, 16m or 1g', (text) => {
  const [, digits = '', unit = ''] = /^(\d{1,15})([bkmg]?)$/i.exec(text.replaceAll(' ', '')) ?? [];
  const bytes = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  return digits === '' || !Number.isSafeInteger(bytes) ? undefined : bytes;
});

/** The same, from `min` to `max` bytes; `range` says them as users write them. */
export function sizeWithin(range: string, { min, max }: { readonly min: number; readonly max: number }): Codec<number> {
  return codec(`a size from ${range}`, (text) => {
    const decoded = size.decode(text);
    return 'value' in decoded && min <= decoded.value && decoded.value <= max ? decoded.value : undefined;
  });
}

/** Characters that values may hold, by the name that this product has for the set. */
const SETS = {
  /** Names and paths. */
  basic: { characters: 'A-Za-z0-9/\\-._~:', shown: 'letters, digits and / - . _ ~ :' },
  basicAndSpace: { characters: 'A-Za-z0-9/\\-._~: ', shown: 'letters, digits, spaces and / - . _ ~ :' },
  extended: { characters: 'A-Za-z0-9/\\-._~:, ', shown: 'letters, digits, spaces and / - . _ ~ : ,' },
  url: { characters: 'A-Za-z0-9/\\-._~:,?&=', shown: 'letters, digits and / - . _ ~ : , ? & =' },
  urlWithVariables: { characters: 'A-Za-z0-9/\\-._~:,?&=$ ', shown: 'letters, digits and / - . _ ~ : , ? & = $' },
  variables: { characters: 'A-Za-z0-9\\-_{}$', shown: 'letters, digits and - _ $ { }' },
  headerList: { characters: 'A-Za-z0-9\\-_, ', shown: 'letters, digits, spaces and - _ ,' },
  regex: {
    characters: 'A-Za-z0-9/\\-._~:^$[\\](){}*+?|&=\\\\',
    shown: 'letters, digits and / - . _ ~ : ^ $ [ ] ( ) { } * + ? | & = \\',
  },
} as const satisfies Readonly<Record<string, { readonly characters: string; readonly shown: string }>>;

export type CharacterSet = keyof typeof SETS;

/** Text of these characters alone; spaces inside it stay where the set has them. */
export function textOf(set: CharacterSet, what = 'text'): Codec<string> {
  const { characters, shown } = SETS[set];
  const pattern = new RegExp(`^[${characters}]+$`);
  return codec(`${what} of ${shown}`, (text) => (pattern.test(text) ? text : undefined));
}

/** Items between commas, each trimmed; empty ones do not count. */
export function listOf<V>(item: Codec<V>, what: string): Codec<readonly V[]> {
  return {
    expects: what,
    decode(text): Decoded<readonly V[]> {
      const values: V[] = [];
      for (const part of splitList(text)) {
        const decoded = item.decode(part);
        if ('reason' in decoded) return { reason: `holds ${JSON.stringify(part)}, which ${decoded.reason}` };
        values.push(decoded.value);
      }
      return { value: values };
    },
  };
}

/** Any text; lists whose items are checked where they are used. */
export const anyText: Codec<string> = codec('text', (text) => text);

export const textList: Codec<readonly string[]> = codec('a list with commas', splitList);

export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
