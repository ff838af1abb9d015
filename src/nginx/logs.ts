import { isUnsaid, type LogEscape, type LogFormat, namesIngress } from '../model/log-format.ts';
import { missingTexts } from '../model/missing-in-log.ts';
import type { LogSettings } from '../model/settings.ts';
import { isUnsaidOfStream, namesService, type StreamLogFormat } from '../model/stream-log-format.ts';
import { mapKey } from './blocked.ts';
import type { NginxSettings } from './config.ts';
import { Expanded, type ExpandedPart, quote } from './quote.ts';
import { MAX_TOKEN_BYTES } from './token.ts';

/** @param file absent where the process is to write nothing. */
export function logSettings(
  { requests, streams, errors }: LogSettings,
  file: string | undefined,
): Pick<NginxSettings, 'accessLog' | 'streamLog' | 'errorLogLevel'> {
  if (file === undefined) return { errorLogLevel: errors };
  const accessLog = requests && {
    file,
    format: inPieces(expanded(requests.format, requests.escape)),
    escape: requests.escape,
    skip: requests.skip.map(mapKey),
    namesIngress: namesIngress(requests.format),
  };
  const streamLog = streams && { file, format: inPieces(expandedStream(streams)), namesService: namesService(streams) };
  return { errorLogLevel: errors, ...(accessLog && { accessLog }), ...(streamLog && { streamLog }) };
}

/** What a client can put a line break into by encoding it. */
const ON_ONE_LINE: Readonly<Record<string, string>> = { remote_user: 'line_user', uri: 'line_uri' };

/** What holds line breaks by itself, and nothing else can be made of it. */
const OF_LINES: ReadonlySet<string> = new Set([
  'request_body',
  'request_filename',
  'ssl_client_cert',
  'ssl_client_raw_cert',
]);

function expanded(format: LogFormat, escaping: LogEscape): Expanded {
  const names: Readonly<Record<string, string>> = escaping === 'none' ? ON_ONE_LINE : {};
  const missing = missingTexts(format, escaping);
  return new Expanded(
    format.map((part, index) => {
      if (typeof part === 'string') return part;
      const { variable, argument = '' } = part;
      if (isUnsaid(part, 'nginx')) return missing[index] ?? '';
      if (variable === 'literal_dollar') return '$';
      if (variable === 'other') return escaping === 'none' && OF_LINES.has(argument) ? '' : { variable: argument };
      return {
        variable: argument === '' ? (names[variable] ?? variable) : `${variable}_${argument.toLowerCase()}`,
      };
    }),
  );
}

/** An nginx may not even know the name of what is written as missing. */
function expandedStream(format: StreamLogFormat): Expanded {
  return new Expanded(
    format.map((part) => (typeof part === 'string' || !isUnsaidOfStream(part.variable, 'nginx') ? part : '-')),
  );
}

/** nginx joins the pieces of a format, and reads none that is too long. */
function inPieces({ parts }: Expanded): readonly Expanded[] {
  const pieces: ExpandedPart[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const part of parts.flatMap(shortParts)) {
    const added = Buffer.byteLength(quote(new Expanded([part])));
    length += added;
    if (length <= MAX_TOKEN_BYTES) pieces.at(-1)?.push(part);
    else {
      pieces.push([part]);
      length = added;
    }
  }
  return pieces.map((piece) => new Expanded(piece));
}

/** So that none is too long, however it is written. */
const SHORT = 200;

function shortParts(part: ExpandedPart): readonly ExpandedPart[] {
  if (typeof part !== 'string' || part.length <= SHORT) return [part];
  const characters = [...part];
  return Array.from({ length: Math.ceil(characters.length / SHORT) }, (_, index) =>
    characters.slice(index * SHORT, (index + 1) * SHORT).join(''),
  );
}
