import {
  type envoy_config_core_v3_Address as AddressMessage,
  envoy_config_core_v3_ApiVersion as ApiVersion,
  type envoy_config_core_v3_ConfigSource as ConfigSource,
} from '../gen/messages.ts';

/** Resources of other types are fetched over the stream that this one came on. */
export const ADS: ConfigSource = { ads: {}, resource_api_version: ApiVersion.V3 };

/** `host`: an IP literal, or a DNS name where Envoy resolves one. */
export function socketAddress(host: string, port: number): AddressMessage {
  return { socket_address: { address: host, port_value: port } };
}
