import { annotationFeature, type Finding } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { boolean } from '../declaration/codecs.ts';
import { approximated, HONOURED } from '../declaration/support.ts';
import { NGINX_DOES_NOT_TRACE } from '../declaration/tracing.ts';

const common = { scope: 'paths', nginx: NGINX_DOES_NOT_TRACE } as const;

const NO_COLLECTOR: Finding = {
  annotation: 'enable-opentelemetry',
  reason: '"true" needs a collector, which otlp-collector-host of the ConfigMap names; nothing is traced',
  code: 'AnnotationInvalid',
  ignored: true,
};

export const tracing = annotationFeature({
  title: 'Tracing',
  keys: {
    'enable-opentelemetry': {
      ...common,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'enable-opentelemetry',
      summary:
        'Whether requests are traced: a span of each is sent to the collector that the ConfigMap names, and backends are told of it by `traceparent`.',
      example: 'true',
      envoy: HONOURED,
    },
    'opentelemetry-trust-incoming-span': {
      ...common,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'opentelemetry-trust-incoming-span',
      summary: 'Whether a request continues the trace that it names.',
      example: 'true',
      envoy: approximated(
        'Envoy decides it before it looks for the route, so that the key of the ConfigMap holds for all Ingresses; one that says otherwise is told so.',
      ),
    },
    'opentelemetry-operation-name': {
      ...common,
      codec: codec('a name of letters, digits, _ and -', (text) =>
        /^[A-Za-z0-9_-]+$/.test(text.replaceAll(' ', '')) ? text : undefined,
      ),
      risk: 'Medium',
      whenInvalid: 'refuse',
      configMap: 'opentelemetry-operation-name',
      summary: 'The name of the spans of requests; their path in the Ingress without it.',
      example: 'checkout',
      envoy: HONOURED,
    },
  },
  apply(values, { global }) {
    const enabled = values['enable-opentelemetry'] ?? global['enable-opentelemetry'];
    if (!enabled) return {};
    const trusts = global['opentelemetry-trust-incoming-span'];
    const wanted = values['opentelemetry-trust-incoming-span'] ?? trusts;
    if (global['otlp-collector-host'] === '') return values['enable-opentelemetry'] ? { warnings: [NO_COLLECTOR] } : {};
    const own = values['opentelemetry-operation-name'];
    const operation = own === undefined ? global['opentelemetry-operation-name'] : [own];
    return {
      host: { tracing: operation.length > 0 ? { operation } : {} },
      ...(wanted !== trusts && { warnings: [trustOfAll(wanted, trusts)] }),
    };
  },
});

function trustOfAll(wanted: boolean, holds: boolean): Finding {
  return {
    annotation: 'opentelemetry-trust-incoming-span',
    reason: `"${wanted}" cannot hold for one Ingress; "${holds}" holds, as the ConfigMap says for all`,
  };
}
