/** What the settings mean for nginx. */
import type { ListenerSettings, ProxySettings } from '../model/settings.ts';
import { DEFAULT_CIPHERS, type TlsPolicy, type TlsSettings } from '../model/tls-settings.ts';
import type { NginxServer, NginxSettings, NginxTls } from './config.ts';

/** Each with the colon that a port follows. */
export function listenAddresses(
  { addresses, ipv6 }: ListenerSettings,
  machine: { readonly ipv6: boolean },
): readonly string[] {
  const all = addresses?.map((ip) => (ip.includes(':') ? `[${ip}]:` : `${ip}:`)) ?? ['', '[::]:'];
  return all.filter((address) => !address.includes('[') || (ipv6 && machine.ipv6));
}

type Forwarded = Pick<NginxSettings, 'trustedPeers' | 'realIpHeader' | 'trustsHeaders' | 'appendsPeer'>;

/** @param httpsSocket set where TLS is ended behind another server of ours, which says who the client is. */
export function forwardedSettings({ forwarded, listener }: ProxySettings, httpsSocket?: string): Forwarded {
  const { trustedPeers, namesClient, forwardedForHeader, trustsHeaders, appendsPeer } = forwarded;
  const isNamed = namesClient || listener.proxyProtocol !== undefined;
  const byConnection = listener.proxyProtocol !== undefined || httpsSocket !== undefined;
  return {
    trustedPeers: [...(isNamed ? trustedPeers : []), ...(httpsSocket === undefined ? [] : ['unix:'])],
    realIpHeader: byConnection ? 'proxy_protocol' : spelt(forwardedForHeader),
    trustsHeaders,
    appendsPeer,
  };
}

/** In this spelling alone nginx looks at all lines of the header; of any other header, or spelling, at the first one. */
function spelt(header: string): string {
  return header === 'x-forwarded-for' ? 'X-Forwarded-For' : header;
}

export function tlsSettings(tls: TlsSettings): NginxTls {
  const { versions, ciphers, curves, sessionCache, sessionCacheBytes } = tls;
  return {
    protocols: versions,
    ciphers: (ciphers ?? DEFAULT_NGINX_CIPHERS).join(':'),
    curves: curves?.join(':') ?? 'auto',
    http2: tls.http2,
    sessionCacheBytes: sessionCache ? sessionCacheBytes : 0,
    sessionTimeout: tls.sessionTimeoutSeconds,
    sessionTickets: tls.sessionTickets,
    bufferSize: tls.bufferBytes,
    earlyData: tls.earlyData,
    rejectHandshake: tls.rejectsUnknownNames,
  };
}

/** What one server has that differs from all. */
export function serverTls({ ciphers, prefersClientCiphers }: TlsPolicy): ServerTls {
  return {
    ...(ciphers && { ciphers: (ciphers.length > 0 ? ciphers : DEFAULT_NGINX_CIPHERS).join(':') }),
    ...(prefersClientCiphers && { prefersClientCiphers }),
  };
}

type ServerTls = Pick<NginxServer, 'ciphers' | 'prefersClientCiphers'>;

/** As in ingress-nginx. Those with DHE take effect in a template that adds parameters. */
const DEFAULT_NGINX_CIPHERS: readonly string[] = [
  ...DEFAULT_CIPHERS,
  'DHE-RSA-AES128-GCM-SHA256',
  'DHE-RSA-AES256-GCM-SHA384',
];
