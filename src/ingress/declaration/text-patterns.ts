import type { TextPattern } from '../../model/settings.ts';
import { type Codec, codec } from './codec.ts';
import { listOf } from './codecs.ts';
import { isRegex } from './regex.ts';

/** Longer ones could grow, when they are compiled, beyond what a proxy takes. */
const MAX_LENGTH = 512;

const textPattern: Codec<TextPattern> = codec(
  'text, or ~ or ~* and a regular expression without look-around',
  (text) => {
    if (text.length > MAX_LENGTH) return undefined;
    if (!text.startsWith('~')) return { kind: 'text', text };
    const ignoreCase = text.startsWith('~*');
    const pattern = text.slice(ignoreCase ? 2 : 1);
    return pattern !== '' && isRegex(pattern) ? { kind: 'regex', pattern, ignoreCase } : undefined;
  },
);

/** Values of a header, as the `map` of nginx compares them. */
export const textPatterns: Codec<readonly TextPattern[]> = listOf(
  textPattern,
  'a list with commas: whole values in any case, or regular expressions behind ~ (the same case) or ~* (any case)',
);
