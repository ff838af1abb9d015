import { annotationFeature } from '../declaration/annotation.ts';
import { textOf } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { protects: 'paths', scope: 'paths', envoy: PLANNED, nginx: PLANNED } as const;

export const addressLists = annotationFeature({
  title: 'Addresses of clients',
  keys: {
    'allowlist-source-range': {
      ...planned,
      alias: 'whitelist-source-range',
      codec: textOf('extended', 'a list of addresses'),
      risk: 'Medium',
      whenInvalid: 'deny',
      summary: 'Requests from all other addresses are answered 403.',
      example: '10.0.0.0/8,192.0.2.1',
    },
    'denylist-source-range': {
      ...planned,
      codec: textOf('extended', 'a list of addresses'),
      risk: 'Medium',
      whenInvalid: 'deny',
      summary: 'Requests from these addresses are answered 403.',
      example: '203.0.113.0/24',
    },
  },
});
