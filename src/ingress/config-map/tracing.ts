/** Tracing of requests. */
import type { BackendTemplate } from '../declaration/backend-template.ts';
import { anyText, boolean, choice, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { approximated, HONOURED } from '../declaration/support.ts';
import { collectorHost, NGINX_DOES_NOT_TRACE, operationName, ratio } from '../declaration/tracing.ts';

const common = { envoy: HONOURED, nginx: NGINX_DOES_NOT_TRACE } as const;
const port = integer({ min: 1, max: 65_535 });
const NO_NAME: BackendTemplate = [];

export const tracingKeys = configMapKeys({
  'enable-opentelemetry': {
    ...common,
    codec: boolean,
    default: false,
    summary:
      'Whether requests are traced, where an Ingress says nothing else: a span of each is sent to the collector, and backends are told of it by `traceparent`.',
    example: 'true',
  },
  'opentelemetry-trust-incoming-span': {
    ...common,
    codec: boolean,
    default: true,
    summary: 'Whether requests continue the traces that they name (`traceparent`); else each begins one.',
    example: 'false',
  },
  'opentelemetry-operation-name': {
    ...common,
    codec: operationName,
    default: NO_NAME,
    shownDefault: '',
    summary:
      'The name of spans; variables of nginx may stand in it, also $namespace, $ingress_name, $service_name and $service_port. Without it, that is the path in the Ingress.',
    example: 'HTTP $request_method $service_name $uri',
  },
  'opentelemetry-config': {
    codec: anyText,
    default: '/etc/ingress-controller/telemetry/opentelemetry.toml',
    summary: 'The file that the settings are written to for the OpenTelemetry module of nginx.',
    example: '/etc/opentelemetry.toml',
    envoy: approximated('Nothing is written to a file: Envoy gets the settings with all others.'),
    nginx: NGINX_DOES_NOT_TRACE,
  },
  'otlp-collector-host': {
    ...common,
    codec: collectorHost,
    default: '',
    summary:
      'The host that takes spans as OTLP over gRPC, without TLS: a name or an address. Nothing is traced without it.',
    example: 'otel-collector.telemetry.svc',
  },
  'otlp-collector-port': { ...common, codec: port, default: 4317, summary: 'Its port.', example: '4317' },
  'otel-service-name': {
    ...common,
    codec: anyText,
    default: 'nginx',
    summary: 'The name of the service in traces (`service.name`).',
    example: 'edge',
  },
  'otel-sampler': {
    ...common,
    codec: choice('AlwaysOn', 'AlwaysOff', 'TraceIdRatioBased'),
    default: 'AlwaysOn',
    summary: 'Of which requests spans are sent.',
    example: 'TraceIdRatioBased',
  },
  'otel-sampler-ratio': {
    ...common,
    codec: ratio,
    default: 0.01,
    summary: 'Of which part of the traces spans are sent with `otel-sampler: TraceIdRatioBased`.',
    example: '0.1',
  },
  'otel-sampler-parent-based': {
    ...common,
    codec: boolean,
    default: true,
    summary:
      'Whether a span of a request that continues a trace is sent exactly if those before it are; the sampler is then for the others.',
    example: 'false',
  },
  'otel-max-queuesize': {
    codec: integer({ min: 1 }),
    default: 2048,
    summary: 'How many spans may wait to be sent; more are lost.',
    example: '4096',
    envoy: approximated('Each worker thread of Envoy has a queue of its own, which is emptied every 512 spans.'),
    nginx: NGINX_DOES_NOT_TRACE,
  },
  'otel-schedule-delay-millis': {
    codec: integer({ of: 'milliseconds' }),
    default: 5000,
    summary: 'How long spans are gathered before they are sent.',
    example: '1000',
    envoy: approximated(
      'It is 5 s, unless the runtime key `tracing.opentelemetry.flush_interval_ms` of Envoy says otherwise.',
    ),
    nginx: NGINX_DOES_NOT_TRACE,
  },
  'otel-max-export-batch-size': {
    codec: integer({ min: 1 }),
    default: 512,
    summary: 'How many spans are sent at once.',
    example: '1024',
    envoy: approximated(
      'It is 512, unless the runtime key `tracing.opentelemetry.min_flush_spans` of Envoy says otherwise.',
    ),
    nginx: NGINX_DOES_NOT_TRACE,
  },
});
