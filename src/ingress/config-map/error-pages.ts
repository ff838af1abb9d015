/** Answers in place of errors. */
import { boolean, integer, listOf } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;

export const errorPageKeys = configMapKeys({
  'custom-http-errors': {
    ...planned,
    codec: listOf(integer({ min: 300, max: 599 }), 'a list of statuses from 300 to 599'),
    default: [],
    shownDefault: '',
    summary: 'Statuses whose answers come from the default backend, where an Ingress says nothing else.',
    example: '404,503',
  },
  'disable-proxy-intercept-errors': {
    ...planned,
    codec: boolean,
    default: false,
    summary: 'Whether errors of backends reach clients as they are.',
    example: 'true',
  },
});
