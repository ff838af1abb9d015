/** Traces, as the ConfigMap wants them. */
import type { Sampler, TracingSettings } from '../model/tracing.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import type { KeyFinding } from './config-map/reading.ts';

/** Without a collector nothing is traced, whatever else is said. */
export function tracingSettings(values: ConfigMapValues): { readonly tracing?: TracingSettings } {
  const host = values['otlp-collector-host'];
  if (host === '') return {};
  return {
    tracing: {
      collector: { host, port: values['otlp-collector-port'] },
      serviceName: values['otel-service-name'],
      trustsContext: values['opentelemetry-trust-incoming-span'],
      sampler: { ratio: ratioOf(values), parentBased: values['otel-sampler-parent-based'] } satisfies Sampler,
      maxQueuedSpans: values['otel-max-queuesize'],
    },
  };
}

function ratioOf(values: ConfigMapValues): number {
  switch (values['otel-sampler']) {
    case 'AlwaysOn':
      return 1;
    case 'AlwaysOff':
      return 0;
    case 'TraceIdRatioBased':
      return values['otel-sampler-ratio'];
  }
}

/** What is asked for and cannot be, since another key is missing. */
export function tracingFindings(values: ConfigMapValues): KeyFinding[] {
  if (!values['enable-opentelemetry'] || values['otlp-collector-host'] !== '') return [];
  const reason = '"true" needs otlp-collector-host, which names no collector';
  return [{ key: 'enable-opentelemetry', kind: 'invalid', reason, instead: 'nothing is traced' }];
}
