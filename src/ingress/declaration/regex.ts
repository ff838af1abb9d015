import { RE2JS } from 're2js';
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

/** Whether both proxies take it. */
export function isRegex(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false;
  }
}
