/** HTTP/3: asked for when the process starts, and served while the ConfigMap wants nothing that QUIC has not. */
import type { Http3Settings } from '../model/settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import type { KeyFinding } from './config-map/reading.ts';

/** @param asked what `--http3` asks for; absent: nothing. */
export function http3Settings(values: ConfigMapValues, asked: Http3Settings | undefined): Http3Settings | undefined {
  return obstacles(values).length === 0 ? asked : undefined;
}

/** Why HTTP/3 is not served although it is asked for. */
export function http3Findings(values: ConfigMapValues, asked: Http3Settings | undefined): KeyFinding[] {
  if (asked === undefined) return [];
  return obstacles(values).map(({ key, reason }) => ({
    key,
    kind: 'unsupported',
    reason,
    instead: 'HTTP/3 (--http3) is not served',
  }));
}

function obstacles(values: ConfigMapValues): readonly { readonly key: string; readonly reason: string }[] {
  return [
    // Clients would be taken for the load balancer that passes their datagrams on, and get what its address is allowed.
    ...(values['use-proxy-protocol']
      ? [{ key: 'use-proxy-protocol', reason: 'QUIC has no PROXY protocol that would name the client' }]
      : []),
    ...(values['ssl-protocols'].includes('TLSv1.3')
      ? []
      : [{ key: 'ssl-protocols', reason: 'QUIC speaks TLS 1.3 alone' }]),
  ];
}
