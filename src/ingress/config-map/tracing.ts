/** Tracing of requests. */
import { anyText, boolean, choice, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;
const text = { ...planned, codec: anyText, default: '' };
const port = integer({ min: 1, max: 65_535 });

export const tracingKeys = configMapKeys({
  'enable-opentelemetry': {
    ...planned,
    codec: boolean,
    default: false,
    summary: 'Whether requests are traced, where an Ingress says nothing else.',
    example: 'true',
  },
  'opentelemetry-trust-incoming-span': {
    ...planned,
    codec: boolean,
    default: true,
    summary: 'Whether the trace that a request says it belongs to is believed, where an Ingress says nothing else.',
    example: 'false',
  },
  'opentelemetry-operation-name': { ...text, summary: 'The name of the span of a request.', example: 'checkout' },
  'opentelemetry-config': {
    ...planned,
    codec: anyText,
    default: '/etc/ingress-controller/telemetry/opentelemetry.toml',
    summary: 'The file with the settings of the OpenTelemetry module of nginx.',
    example: '/etc/opentelemetry.toml',
  },
  'otlp-collector-host': { ...text, summary: 'The host that collects traces.', example: 'otel-collector.telemetry' },
  'otlp-collector-port': { ...planned, codec: port, default: 4317, summary: 'Its port for gRPC.', example: '4317' },
  'otel-service-name': {
    ...planned,
    codec: anyText,
    default: 'nginx',
    summary: 'The name of the service in traces.',
    example: 'edge',
  },
  'otel-sampler': {
    ...planned,
    codec: choice('AlwaysOn', 'AlwaysOff', 'TraceIdRatioBased'),
    default: 'AlwaysOn',
    summary: 'Which requests are traced.',
    example: 'TraceIdRatioBased',
  },
  'otel-sampler-ratio': {
    ...planned,
    codec: anyText,
    default: '0.01',
    summary: 'The part of requests that is traced with `otel-sampler: TraceIdRatioBased`.',
    example: '0.1',
  },
  'otel-sampler-parent-based': {
    ...planned,
    codec: boolean,
    default: true,
    summary: 'Whether a request is traced if the trace that it belongs to is.',
    example: 'false',
  },
  'otel-max-queuesize': {
    ...planned,
    codec: integer(),
    default: 2048,
    summary: 'How many spans may wait to be sent.',
    example: '4096',
  },
  'otel-schedule-delay-millis': {
    ...planned,
    codec: integer({ of: 'milliseconds' }),
    default: 5000,
    summary: 'How long spans are gathered before they are sent.',
    example: '1000',
  },
  'otel-max-export-batch-size': {
    ...planned,
    codec: integer(),
    default: 512,
    summary: 'How many spans are sent at once.',
    example: '1024',
  },
});
