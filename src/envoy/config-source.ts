import {
  type envoy_config_core_v3_Address as AddressMessage,
  envoy_config_core_v3_ApiVersion as ApiVersion,
  type envoy_config_core_v3_ConfigSource as ConfigSource,
  envoy_config_core_v3_SocketAddress_Protocol as SocketProtocol,
} from '../gen/messages.ts';

/** Resources of other types are fetched over the stream that this one came on. */
export const ADS: ConfigSource = { ads: {}, resource_api_version: ApiVersion.V3 };

/** `host`: an IP literal, or a DNS name where Envoy resolves one. */
export function socketAddress(host: string, port: number, protocol: 'tcp' | 'udp' = 'tcp'): AddressMessage {
  const udp = protocol === 'udp' ? { protocol: SocketProtocol.UDP } : {};
  return { socket_address: { ...udp, address: host, port_value: port } };
}

/** `10.0.0.0/8` */
export function cidrRange(network: string) {
  const [address_prefix = '', length] = network.split('/');
  return { address_prefix, prefix_len: { value: Number(length) } };
}
