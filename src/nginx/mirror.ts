import { authorityHost, type Mirror } from '../model/mirror.ts';
import type { NginxMirror } from './config.ts';
import { Expanded } from './quote.ts';
import { expanded, expandedInUrl } from './variables.ts';

/** On which nginx takes copies from itself. */
export function copiesSocket(folder: string): string {
  return `${folder}/copies.sock`;
}

/** What a template sees of the copies of a location. */
export function nginxMirror({ target, path, host, body }: Mirror): NginxMirror {
  const { tls, hostname, port } = target;
  const origin = `${tls ? 'https' : 'http'}://${authorityHost(hostname)}:${port}`;
  return { url: new Expanded([origin, ...expandedInUrl(path).parts]), host: expanded(host), body };
}
