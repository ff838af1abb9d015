/** How clients speak TLS, as the ConfigMap says. */
import type { TlsSettings } from '../model/tls-settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import type { KeyFinding } from './config-map/reading.ts';
import { ciphersFor } from './declaration/ciphers.ts';
import type { ProxyName } from './declaration/support.ts';

export function tlsSettings(values: ConfigMapValues, proxy: ProxyName): TlsSettings {
  const ciphers = readCiphers(values['ssl-ciphers'], proxy);
  const curves = values['ssl-ecdh-curve'];
  return {
    versions: values['ssl-protocols'],
    ...(ciphers !== undefined && { ciphers }),
    ...(curves.length > 0 && { curves }),
    http2: values['use-http2'],
    sessionCache: values['ssl-session-cache'],
    sessionCacheBytes: values['ssl-session-cache-size'],
    sessionTickets: values['ssl-session-tickets'],
    sessionTimeoutSeconds: values['ssl-session-timeout'],
    bufferBytes: values['ssl-buffer-size'],
    earlyData: values['ssl-early-data'],
    stapling: values['enable-ocsp'],
    rejectsUnknownNames: values['ssl-reject-handshake'],
  };
}

/** `undefined`: the default. */
function readCiphers(items: readonly string[], proxy: ProxyName): readonly string[] | undefined {
  const decoded = ciphersFor(proxy, items);
  return 'value' in decoded && decoded.value.ciphers.length > 0 ? decoded.value.ciphers : undefined;
}

/** What a proxy has not of a list of ciphers. */
export function cipherFindings({ 'ssl-ciphers': items }: ConfigMapValues, proxy: ProxyName): KeyFinding[] {
  if (items.length === 0) return [];
  const decoded = ciphersFor(proxy, items);
  if ('reason' in decoded) return [{ key: 'ssl-ciphers', kind: 'invalid', reason: `the list ${decoded.reason}` }];
  const { dropped } = decoded.value;
  if (dropped.length === 0) return [];
  const reason = `the proxy has no ${dropped.join(', ')}`;
  return [{ key: 'ssl-ciphers', kind: 'invalid', reason, instead: 'the others of the list hold' }];
}
