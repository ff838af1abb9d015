import { annotationFeature } from '../declaration/annotation.ts';
import { integer, textOf } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { scope: 'paths', risk: 'Low', envoy: PLANNED, nginx: PLANNED } as const;

export const rateLimits = annotationFeature({
  title: 'Rate limits',
  keys: {
    'limit-rps': {
      ...planned,
      codec: integer({ of: 'requests' }),
      whenInvalid: 'refuse',
      default: '0',
      summary: 'How many requests in a second one client address may send; 0 for no limit.',
      example: '5',
    },
    'limit-rpm': {
      ...planned,
      codec: integer({ of: 'requests' }),
      whenInvalid: 'refuse',
      default: '0',
      summary: 'How many requests in a minute one client address may send; 0 for no limit.',
      example: '300',
    },
    'limit-burst-multiplier': {
      ...planned,
      codec: integer(),
      whenInvalid: 'default',
      default: '5',
      summary: 'How many times the limit may be used at once.',
      example: '2',
    },
    'limit-connections': {
      ...planned,
      codec: integer({ of: 'requests' }),
      whenInvalid: 'refuse',
      default: '0',
      summary: 'How many requests one client address may have in flight; 0 for no limit.',
      example: '10',
    },
    'limit-allowlist': {
      ...planned,
      alias: 'limit-whitelist',
      codec: textOf('extended', 'a list of addresses'),
      whenInvalid: 'refuse',
      summary: 'Addresses without a limit.',
      example: '10.0.0.0/8',
    },
  },
});
