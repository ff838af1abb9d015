import { annotationFeature } from '../declaration/annotation.ts';
import { boolean, integer, listOf } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { scope: 'paths', risk: 'Low', envoy: PLANNED, nginx: PLANNED } as const;

export const errorPages = annotationFeature({
  title: 'Error pages',
  keys: {
    'custom-http-errors': {
      ...planned,
      codec: listOf(integer({ min: 400, max: 599 }), 'a list of statuses from 400 to 599'),
      whenInvalid: 'refuse',
      configMap: 'custom-http-errors',
      summary: 'Statuses whose answers come from the default backend.',
      example: '404,503',
    },
    'disable-proxy-intercept-errors': {
      ...planned,
      codec: boolean,
      whenInvalid: 'default',
      configMap: 'disable-proxy-intercept-errors',
      summary: 'Whether errors of backends reach clients as they are.',
      example: 'true',
    },
  },
});
