import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where the user keeps what can be made or fetched again; it need not exist. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  // The XDG base directory specification: an empty or relative value is to be ignored.
  const base = env['XDG_CACHE_HOME']?.startsWith('/')
    ? env['XDG_CACHE_HOME']
    : join(env['HOME'] || homedir(), '.cache');
  return join(base, 'ingress-xds');
}
