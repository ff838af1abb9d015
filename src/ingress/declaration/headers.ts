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
  return { header: { name, value: decoded.value } };
}

function faultOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return `${quote(name)} is not the name of a header`;
  if (FRAMING.has(name.toLowerCase())) return `header ${quote(name)} is written by the proxy alone`;
  if (!VALUE.test(value)) return `header ${quote(name)} has a value of more than printable ASCII`;
  return undefined;
}
