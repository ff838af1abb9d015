import ipaddr from 'ipaddr.js';
import type { envoy_config_endpoint_v3_ClusterLoadAssignment as ClusterLoadAssignment } from '../gen/messages.ts';
import type { Address, Endpoints } from '../model/proxy-model.ts';
import { socketAddress } from './config-source.ts';

/**
 * The addresses of a Service port. Nothing ready is an assignment without endpoints, never none: Envoy would wait for it.
 * @throws Error for an address that is no IP literal; Envoy would refuse all of them.
 */
export function endpointsMessage({ name, addresses }: Endpoints): ClusterLoadAssignment {
  if (addresses.length === 0) return { cluster_name: name };
  return { cluster_name: name, endpoints: [{ lb_endpoints: addresses.map((address) => lbEndpoint(name, address)) }] };
}

function lbEndpoint(name: string, { ip, port }: Address) {
  if (!ipaddr.isValid(ip)) throw new Error(`endpoints ${name}: ${JSON.stringify(ip)} is no IP address`);
  return { endpoint: { address: socketAddress(ip, port) } };
}
