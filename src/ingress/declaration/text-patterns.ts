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

const list = listOf(
  textPattern,
  'a list with commas: whole values in any case, or regular expressions behind ~ (the same case) or ~* (any case)',
);

/** Values of a header, as the `map` of nginx compares them; each once. */
export const textPatterns: Codec<readonly TextPattern[]> = {
  expects: list.expects,
  decode(text) {
    const decoded = list.decode(text);
    return 'reason' in decoded
      ? decoded
      : { value: [...new Map(decoded.value.map((one) => [keyOf(one), one])).values()] };
  },
};

function keyOf(pattern: TextPattern): string {
  return pattern.kind === 'text' ? pattern.text.toLowerCase() : `~${pattern.ignoreCase} ${pattern.pattern}`;
}
