/** Spans of requests, in the words of OpenTelemetry. Which requests have one, routes say (policies/tracing.ts). */
import {
  type envoy_type_tracing_v3_CustomTag as CustomTag,
  envoy_type_v3_FractionalPercent_DenominatorType as Denominator,
  type envoy_extensions_filters_network_http_connection_manager_v3_HttpConnectionManager as HttpConnectionManager,
  type envoy_config_core_v3_TypedExtensionConfig as TypedExtensionConfig,
  envoy_type_tracing_v3_CustomTag_ValueType as ValueType,
} from '../gen/messages.ts';
import type { ProxySettings } from '../model/settings.ts';
import type { Collector, Sampler } from '../model/tracing.ts';
import { COLLECTOR_CLUSTER } from './collector.ts';
import { asItCame } from './filters/original-request.ts';
import { REQUEST_URI } from './format.ts';

/** As long as OpenTelemetry waits for a collector. Without an end, exports to one that is silent would pile up. */
const EXPORT_SECONDS = 10;

/** Of the connection manager: a change drains its connections. */
export function tracing({ tracing: settings }: ProxySettings): Pick<HttpConnectionManager, 'tracing'> {
  if (settings === undefined) return {};
  const { collector, serviceName, sampler, maxQueuedSpans } = settings;
  return {
    tracing: {
      client_sampling: {},
      random_sampling: {},
      custom_tags: TAGS,
      provider: {
        name: 'envoy.tracers.opentelemetry',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig',
          grpc_service: {
            envoy_grpc: {
              cluster_name: COLLECTOR_CLUSTER,
              authority: authority(collector),
              skip_envoy_headers: true,
            },
            timeout: { seconds: EXPORT_SECONDS },
          },
          service_name: serviceName,
          sampler: samplerOf(sampler),
          max_cache_size: { value: maxQueuedSpans },
        },
      },
    },
  };
}

function authority({ host, port }: Collector): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const SAMPLERS = 'type.googleapis.com/envoy.extensions.tracers.opentelemetry.samplers.v3';

function samplerOf({ ratio, parentBased }: Sampler): TypedExtensionConfig {
  const sampler = ratio === 1 ? ALWAYS_ON : ratioBased(ratio);
  if (!parentBased) return sampler;
  return {
    name: 'envoy.tracers.opentelemetry.samplers.parent_based',
    typed_config: { '@type': `${SAMPLERS}.ParentBasedSamplerConfig`, wrapped_sampler: sampler },
  };
}

const ALWAYS_ON: TypedExtensionConfig = {
  name: 'envoy.tracers.opentelemetry.samplers.always_on',
  typed_config: { '@type': `${SAMPLERS}.AlwaysOnSamplerConfig` },
};

function ratioBased(ratio: number): TypedExtensionConfig {
  return {
    name: 'envoy.tracers.opentelemetry.samplers.trace_id_ratio_based',
    typed_config: {
      '@type': `${SAMPLERS}.TraceIdRatioBasedSamplerConfig`,
      sampling_percentage: { numerator: Math.round(ratio * 1_000_000), denominator: Denominator.MILLION },
    },
  };
}

const TARGET = `%CEL(${REQUEST_URI})%`;
const HOST = `%CEL(${asItCame('ingress.authority', 'request.host')})%`;

const VERSIONS = { 'HTTP/1.1': '1.1', 'HTTP/2': '2.0', 'HTTP/3': '3.0' };

/**
 * Attributes as the module of ingress-nginx gives them, beside those of Envoy's own. What is not known is left out. No regular
 * expressions: Envoy compiles them for each request.
 */
const TAGS: readonly CustomTag[] = [
  tag('http.flavor', `%CEL(${Object.entries(VERSIONS).map(isVersion).join('')} '1.0')%`),
  // In place of Envoy's, which names the path that a backend gets.
  tag('http.url', `%REQ(X-FORWARDED-PROTO)%://${HOST}${TARGET}`),
  tag('http.target', TARGET),
  tag('http.host', HOST),
  tag('http.server_name', "%CEL(xds.virtual_host_name == '*' ? '_' : xds.virtual_host_name)%"),
  tag('http.scheme', '%REQ(X-FORWARDED-PROTO)%'),
  tag('http.user_agent', '%REQ(USER-AGENT)%'),
  tag('http.status_code', '%RESPONSE_CODE%', ValueType.INT),
  tag('net.host.port', '%DOWNSTREAM_LOCAL_PORT%', ValueType.INT),
  tag('net.peer.ip', '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%'),
  tag('net.peer.port', '%DOWNSTREAM_REMOTE_PORT%', ValueType.INT),
];

function isVersion([protocol, version]: readonly [string, string]): string {
  return `request.protocol == '${protocol}' ? '${version}' : `;
}

function tag(name: string, value: string, value_type: CustomTag['value_type'] = ValueType.STRING): CustomTag {
  return { tag: name, value, value_type };
}
