import type {
  AnyMessage,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
} from '../gen/messages.ts';
import { ADS } from './config-source.ts';

/**
 * An HTTP filter whose configuration is a resource of the same name (ECDS), so that a changed value reaches every connection and
 * drains none. A listener opens once it has the resource.
 * @param otherwise what holds, after 15 seconds, where the resource does not come. Configurations are of the same type.
 */
export function discoveredFilter(name: string, otherwise: AnyMessage): HttpFilter & { readonly name: string } {
  return {
    name,
    config_discovery: { config_source: ADS, default_config: otherwise, type_urls: [otherwise['@type']] },
  };
}
