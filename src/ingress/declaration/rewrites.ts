/** What is made of addresses in the answers of backends. */
import type { ValueRewrite } from '../../model/headers.ts';
import { codec } from './codec.ts';
import { textOf } from './codecs.ts';

/** `off`, or what is replaced and by what. */
export type Rewrite = ValueRewrite | 'off';

const DOMAIN = /^[A-Za-z0-9/\-._~:]+$/;
const PATH = /^[A-Za-z0-9/\-._~:,?&=]+$/;

/** `off`, or two words: a domain, or an expression after `~`, and another domain. Dots in front do not count. */
export const domainRewrite = codec<Rewrite>('`off`, or two domains', (text) =>
  parseWords(text, DOMAIN, (word) => word.replace(/^\./, '')),
);

/** `off`, or two words: how a path begins, or an expression after `~`, and another beginning. */
export const pathRewrite = codec<Rewrite>('`off`, or two paths', (text) => parseWords(text, PATH, (word) => word));

/** `off`, `default`, or the beginning of a URL. */
export const redirectPart = textOf('url', '`off`, `default` or a URL');

function parseWords(text: string, word: RegExp, trim: (word: string) => string): Rewrite | undefined {
  if (text === 'off') return 'off';
  const words = text.split(/ +/);
  const [from = '', to = ''] = words;
  if (words.length !== 2 || !word.test(from) || !word.test(to)) return undefined;
  return rewriteOf(trim(from), trim(to));
}

/** Of an expression, in characters. */
const MAX_PATTERN = 256;

/** `undefined` for an expression with `?`, the only sign in these sets by which one can become costly. */
export function rewriteOf(from: string, to: string): ValueRewrite | undefined {
  if (!from.startsWith('~')) return { from, to };
  const pattern = from.slice(1);
  return pattern === '' || pattern.length > MAX_PATTERN || pattern.includes('?')
    ? undefined
    : { from: pattern, isPattern: true, to };
}
