import { annotationFeature } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { boolean } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { scope: 'paths', envoy: PLANNED, nginx: PLANNED } as const;

export const tracing = annotationFeature({
  title: 'Tracing',
  keys: {
    'enable-opentelemetry': {
      ...planned,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'enable-opentelemetry',
      summary: 'Whether requests are traced.',
      example: 'true',
    },
    'opentelemetry-trust-incoming-span': {
      ...planned,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'opentelemetry-trust-incoming-span',
      summary: 'Whether the trace that a request says it belongs to is believed.',
      example: 'false',
    },
    'opentelemetry-operation-name': {
      ...planned,
      codec: codec('a name of letters, digits, _ and -', (text) =>
        /^[A-Za-z0-9_-]+$/.test(text.replaceAll(' ', '')) ? text : undefined,
      ),
      risk: 'Medium',
      whenInvalid: 'refuse',
      summary: 'The name of the span of a request.',
      example: 'checkout',
    },
  },
});
