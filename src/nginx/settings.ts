/** What the settings mean for nginx. */
import type { ListenerSettings, ProxySettings } from '../model/settings.ts';
import type { NginxSettings } from './config.ts';

/** Each with the colon that a port follows. */
export function listenAddresses(
  { addresses, ipv6 }: ListenerSettings,
  machine: { readonly ipv6: boolean },
): readonly string[] {
  const all = addresses?.map((ip) => (ip.includes(':') ? `[${ip}]:` : `${ip}:`)) ?? ['', '[::]:'];
  return all.filter((address) => !address.includes('[') || (ipv6 && machine.ipv6));
}

type Forwarded = Pick<NginxSettings, 'trustedPeers' | 'realIpHeader' | 'trustsHeaders' | 'appendsPeer'>;

export function forwardedSettings({ forwarded, listener }: ProxySettings): Forwarded {
  const { trustedPeers, namesClient, forwardedForHeader, trustsHeaders, appendsPeer } = forwarded;
  const isNamed = namesClient || listener.proxyProtocol !== undefined;
  return {
    trustedPeers: isNamed ? trustedPeers : [],
    realIpHeader: listener.proxyProtocol === undefined ? forwardedForHeader : 'proxy_protocol',
    trustsHeaders,
    appendsPeer,
  };
}
