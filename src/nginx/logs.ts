import { type LogFormat, namesIngress } from '../model/log-format.ts';
import type { LogSettings } from '../model/settings.ts';
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
    format: expanded(requests.format),
    escape: requests.escape,
    skip: requests.skip.map(mapKey),
    namesIngress: namesIngress(requests.format),
  };
  return { errorLogLevel: errors, ...(accessLog && { accessLog }), ...(streams && { streamLog: file }) };
}

/** Where the template has another name for it. */
const NAMES: Readonly<Record<string, string>> = { http_host: 'best_http_host' };

function expanded(format: LogFormat): Expanded {
  return new Expanded(
    format.map((part) => {
      if (typeof part === 'string') return part;
      const { variable, argument } = part;
      return {
        variable: argument === undefined ? (NAMES[variable] ?? variable) : `${variable}_${argument.toLowerCase()}`,
      };
    }),
  );
}
