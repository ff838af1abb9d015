/** Who the client is, and what it is told by whom. */
import type {
  envoy_config_common_mutation_rules_v3_HeaderMutation as HeaderMutation,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpConnectionManager as HttpConnectionManager,
  envoy_config_core_v3_TypedExtensionConfig as TypedExtensionConfig,
} from '../gen/messages.ts';
import type { ProxySettings } from '../model/settings.ts';
import { cidrRange } from './config-source.ts';
import { overwrite } from './headers.ts';
import { SENT_REFERER } from './policies/blocked.ts';

export function clientIdentity({ forwarded, listener, tracing }: ProxySettings) {
  return {
    ...requestId(tracing !== undefined),
    ...(forwarded.namesClient
      ? { original_ip_detection_extensions: [trustedList(forwarded.trustedPeers)] }
      : // The client is whoever opened the connection, or was named by the PROXY protocol.
        { use_remote_address: { value: true } }),
    // The header is set for the route.
    skip_xff_append: true,
    // A load balancer that ends TLS says so by the port that its client asked for, as with ingress-nginx.
    ...(listener.proxyProtocol && { forward_proto_config: { https_destination_ports: [443] } }),
  } satisfies Partial<HttpConnectionManager>;
}

/** @param decides whether what routes say about tracing counts; without a look at the id Envoy would trace everything. */
function requestId(decides: boolean) {
  return {
    preserve_external_request_id: true,
    request_id_extension: {
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig',
        // An id that a client sent reaches the backend unchanged.
        pack_trace_reason: { value: false },
        use_request_id_for_trace_sampling: { value: decides },
      },
    },
  } satisfies Partial<HttpConnectionManager>;
}

/** Goes through X-Forwarded-For from the right, past the peers that are trusted. */
function trustedList(peers: readonly string[]): TypedExtensionConfig {
  return {
    name: 'envoy.http.original_ip_detection.xff',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.http.original_ip_detection.xff.v3.XffConfig',
      // An empty list would mean that everybody is believed.
      xff_trusted_cidrs: { cidrs: (peers.length === 0 ? [NO_PEER] : peers).map(cidrRange) },
      skip_xff_append: { value: true },
    },
  };
}

/** No connection comes from there. */
const NO_PEER = '0.0.0.0/32';

/**
 * What is done to a request before anything else looks at it: clients cannot steer Envoy by `x-envoy-` headers, cannot reach
 * `HTTP_PROXY` of CGI backends (httpoxy), and what they sent about their way here is kept under other names, as ingress-nginx does.
 */
export function earlyMutations({ forwarded, blocked }: ProxySettings): readonly HeaderMutation[] {
  const { namesClient, trustsHeaders, forwardedForHeader, forwardedHostHeader } = forwarded;
  return [
    { remove_on_match: { key_matcher: { prefix: 'x-envoy-' } } },
    { remove: 'proxy' },
    ...moved(forwardedForHeader, 'x-original-forwarded-for'),
    ...moved(forwardedHostHeader, 'x-original-forwarded-host'),
    // Envoy looks for the client in this header alone; another one is trusted, or not, like it.
    ...(namesClient && forwardedForHeader !== 'x-forwarded-for' ? moved(forwardedForHeader, 'x-forwarded-for') : []),
    // Without it Envoy says what the connection was. Where the client is who opened the connection it does so anyway.
    ...(namesClient && !trustsHeaders ? [{ remove: 'x-forwarded-proto' }] : []),
    // Envoy takes away what it holds for no URL. A change between none and some drains connections.
    ...(blocked.referers.length > 0 ? moved('referer', SENT_REFERER) : []),
  ];
}

/** An empty value sets nothing, so that one that is there has to go first. */
function moved(from: string, to: string): HeaderMutation[] {
  if (from === to) return [];
  return [{ remove: to }, { append: overwrite(to, `%REQ(${from.toUpperCase()})%`) }];
}
