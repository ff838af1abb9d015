/** How clients are counted, and what they are told. */
import { codec } from '../declaration/codec.ts';
import { integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;
const status = integer({ min: 400, max: 599 });

export const rateLimitKeys = configMapKeys({
  'limit-req-status-code': {
    ...planned,
    codec: status,
    default: 503,
    summary: 'The status of a request above the limit of requests.',
    example: '429',
  },
  'limit-conn-status-code': {
    ...planned,
    codec: status,
    default: 503,
    summary: 'The status of a request above the limit of requests in flight.',
    example: '429',
  },
  'limit-conn-zone-variable': {
    ...planned,
    codec: codec('a variable', (text) => (/^\$\w+$/.test(text) ? text : undefined)),
    default: '$binary_remote_addr',
    summary: 'What tells one client from another.',
    example: '$http_x_client',
  },
});
