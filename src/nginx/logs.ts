import { type LogEscape, type LogFormat, namesIngress } from '../model/log-format.ts';
import type { LogSettings } from '../model/settings.ts';
import { isNeverKnown, namesService, type StreamLogFormat } from '../model/stream-log-format.ts';
import { mapKey } from './blocked.ts';
import type { NginxSettings } from './config.ts';
import { Expanded } from './quote.ts';

/** @param file absent where the process is to write nothing. */
export function logSettings(
  { requests, streams, errors }: LogSettings,
  file: string | undefined,
): Pick<NginxSettings, 'accessLog' | 'streamLog' | 'errorLogLevel'> {
  if (file === undefined) return { errorLogLevel: errors };
  const accessLog = requests && {
    file,
    format: expanded(requests.format, requests.escape),
    escape: requests.escape,
    skip: requests.skip.map(mapKey),
    namesIngress: namesIngress(requests.format),
  };
  const streamLog = streams && { file, format: expandedStream(streams), namesService: namesService(streams) };
  return { errorLogLevel: errors, ...(accessLog && { accessLog }), ...(streamLog && { streamLog }) };
}

/** What a client can put a line break into by encoding it. */
const ON_ONE_LINE: Readonly<Record<string, string>> = { remote_user: 'line_user', uri: 'line_uri' };

function expanded(format: LogFormat, escaping: LogEscape): Expanded {
  const names: Readonly<Record<string, string>> = escaping === 'none' ? ON_ONE_LINE : {};
  return new Expanded(
    format.map((part) => {
      if (typeof part === 'string') return part;
      const { variable, argument } = part;
      return {
        variable: argument === undefined ? (names[variable] ?? variable) : `${variable}_${argument.toLowerCase()}`,
      };
    }),
  );
}

/** What nobody knows is written as missing: an nginx may not even know the name. */
function expandedStream(format: StreamLogFormat): Expanded {
  return new Expanded(format.map((part) => (typeof part === 'string' || !isNeverKnown(part.variable) ? part : '-')));
}
