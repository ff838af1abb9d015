import type { envoy_extensions_transport_sockets_tls_v3_Secret as Secret } from '../gen/messages.ts';
import type { Certificate } from '../model/proxy-model.ts';

export function secretMessage({ name, chain, key }: Certificate): Secret {
  return {
    name,
    tls_certificate: {
      certificate_chain: { inline_bytes: Buffer.from(chain) },
      private_key: { inline_bytes: Buffer.from(key.reveal()) },
    },
  };
}
