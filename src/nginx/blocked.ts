import type { BlockedClients, TextPattern } from '../model/settings.ts';
import type { NginxSettings } from './config.ts';
import { Literal, Pattern } from './quote.ts';

export function blockedClients({ networks, userAgents, referers }: BlockedClients): NginxSettings['blocked'] {
  return { networks, userAgents: userAgents.map(mapKey), referers: referers.map(mapKey) };
}

/** nginx takes a backslash in front away, and with it every other meaning that a text could have: `default`, `include`, `~…`. */
export function mapKey(pattern: TextPattern): Literal | Pattern {
  if (pattern.kind === 'text') return new Literal(`\\${pattern.text}`);
  return new Pattern(`${pattern.ignoreCase ? '~*' : '~'}${pattern.pattern}`);
}
