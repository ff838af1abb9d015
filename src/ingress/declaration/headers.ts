/** Headers that users name, and their values. */
import type { Header, HeaderTemplate } from '../../model/headers.ts';
import { quote } from '../diagnose.ts';
import type { Codec } from './codec.ts';
import { codec } from './codec.ts';
import { listOf } from './codecs.ts';
import { parseTemplate } from './template.ts';

const NAME = /^[A-Za-z0-9_-]{1,256}$/;
/** Without control characters, and nothing beyond ASCII. */
const VALUE = /^[\x20-\x7e]*$/;
/**
 * The longest value, with everything counted as long as a proxy may have to write it: nginx reads no more in one piece, and Envoy takes
 * sixteen thousand characters, of which a variable takes up to three hundred.
 */
const MAX_WRITTEN = 4_000;
const MAX_VARIABLES = 50;

/** How many headers of one ConfigMap are taken; Envoy takes a thousand in all. */
export const MAX_HEADERS = 500;

/** They say where a message begins or ends, or belong to one connection: proxies write them. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'te',
  'transfer-encoding',
  'upgrade',
]);

export const headerName: Codec<string> = codec('the name of a header', (text) => (NAME.test(text) ? text : undefined));

export const headerNames: Codec<readonly string[]> = listOf(headerName, 'a list of headers');

/** Headers of answers, which have none that says the host. */
export const answerHeaderNames: Codec<readonly string[]> = listOf(
  codec('the name of a header of answers', (text) =>
    NAME.test(text) && text.toLowerCase() !== 'host' ? text : undefined,
  ),
  'a list of headers',
);

/** A line of a ConfigMap as a header: what is wrong with it, or the header, without a value where none is to be there. */
export type ParsedHeader<H> =
  | { readonly reason: string }
  | { readonly header: H; readonly remove?: undefined }
  | { readonly remove: string };

/** `$` is itself. */
export function parseHeader(name: string, text: string): ParsedHeader<Header> {
  const value = text.trim();
  const reason = faultOf(name, value);
  if (reason !== undefined) return { reason };
  return value === '' ? { remove: name } : { header: { name, value } };
}

/** The value may hold variables of nginx. */
export function parseHeaderTemplate(name: string, text: string): ParsedHeader<HeaderTemplate> {
  const parsed = parseHeader(name, text);
  if (!('header' in parsed)) return parsed;
  const decoded = parseTemplate(parsed.header.value);
  if ('reason' in decoded) return { reason: `header ${quote(name)} ${decoded.reason}` };
  if (decoded.value.filter((part) => typeof part !== 'string').length > MAX_VARIABLES)
    return { reason: `header ${quote(name)} has a value with more than ${MAX_VARIABLES} variables` };
  return { header: { name, value: decoded.value } };
}

function faultOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return `${quote(name)} is not the name of a header`;
  if (FRAMING.has(name.toLowerCase())) return `header ${quote(name)} is written by the proxy alone`;
  if (!VALUE.test(value)) return `header ${quote(name)} has a value of more than printable ASCII`;
  if (writtenLength(value) > MAX_WRITTEN)
    return `header ${quote(name)} has a value of more than ${MAX_WRITTEN} characters, which no proxy takes`;
  return undefined;
}

function writtenLength(value: string): number {
  return [...value].reduce((length, character) => length + (WRITTEN_LENGTH[character] ?? 1), 0);
}

const WRITTEN_LENGTH: Readonly<Record<string, number>> = { '"': 2, '\\': 2, '%': 2, $: 20 };
