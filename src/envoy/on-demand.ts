import type { envoy_config_core_v3_TypedExtensionConfig as TypedExtensionConfig } from '../gen/messages.ts';
import { DEFAULT_CERTIFICATE } from '../model/proxy-model.ts';
import { ADS } from './config-source.ts';

/**
 * Makes Envoy ask for a certificate in the middle of a handshake, by the server name as the client wrote it. The handshake goes on
 * when the certificate arrives and is refused when there is none. A certificate that was found once is kept up to date like any
 * other. Envoy forgets none of them, but a name that was refused.
 */
export const onDemandSelector: TypedExtensionConfig = {
  name: 'on-demand',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config',
    config_source: ADS,
    certificate_mapper: {
      name: 'server-name',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.cert_mappers.sni.v3.SNI',
        // For clients without a server name. They have a chain of their own, but Envoy wants to be told.
        default_value: DEFAULT_CERTIFICATE,
      },
    },
  },
};
