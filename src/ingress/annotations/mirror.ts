import { annotationFeature } from '../declaration/annotation.ts';
import { onOff, textOf } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { scope: 'paths', whenInvalid: 'default', envoy: PLANNED, nginx: PLANNED } as const;

export const mirror = annotationFeature({
  title: 'Copies of requests',
  keys: {
    'mirror-target': {
      ...planned,
      codec: textOf('regex', 'a URL'),
      risk: 'High',
      summary: 'The URL to which a copy of each request is sent; the answer to the copy does not count.',
      example: 'https://copies.example.com$request_uri',
    },
    'mirror-host': {
      ...planned,
      codec: textOf('regex', 'a host'),
      risk: 'High',
      summary: 'The `Host` of the copy; that of `mirror-target` without it.',
      example: 'copies.example.com',
    },
    'mirror-request-body': {
      ...planned,
      codec: onOff,
      risk: 'Low',
      default: 'on',
      summary: 'Whether the copy has the body of the request.',
      example: 'off',
    },
  },
});
