import { RE2JS } from 're2js';
import { parsePattern } from '../../model/path-pattern.ts';
import { type Codec, codec } from './codec.ts';
import { textOf } from './codecs.ts';

/** A regular expression in the dialect that both proxies take: without look-around, back-references and possessive quantifiers. */
export const regex: Codec<string> = codec(
  'a regular expression without look-around, back-references or possessive quantifiers',
  (text) => ('value' in characters.decode(text) && isRegex(text) ? text : undefined),
);

const characters = textOf('regex');

/** Longer ones could grow, when they are compiled, beyond what Envoy takes. */
const MAX_LENGTH = 512;

/**
 * Whether both proxies take it, inside a larger one too. `\Qa` would quote what follows it; a name of a group is a variable in nginx,
 * which may be taken; Unicode and bytes above 255 are known to one of them.
 */
export function isRegex(text: string): boolean {
  if (text.length > MAX_LENGTH || NAMED_GROUP.test(text)) return false;
  // What stands in no path is like any other character that means nothing by itself.
  const parsed = parsePattern(text.replaceAll(/[^\x21-\x7e]/g, '-'));
  if ('reason' in parsed || parsed.parts.some(({ pcreOnly }) => pcreOnly !== undefined)) return false;
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false;
  }
}

const NAMED_GROUP = /(?<!\\)(?:\\\\)*\(\?P?<\w/;
