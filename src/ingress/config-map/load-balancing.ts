/** Which endpoint of a Service a request goes to. */
import { loadBalancings } from '../../model/load-balancing.ts';
import { boolean, choice, integer, textOf } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { FEWER_REQUESTS } from '../declaration/load-balancing.ts';
import { HONOURED, refused } from '../declaration/support.ts';

const NO_DEFAULT = refused('ingress-nginx has the key and does not use it; the annotation of that name works');
const unused = { envoy: NO_DEFAULT, nginx: NO_DEFAULT } as const;

export const loadBalancingKeys = configMapKeys({
  'load-balance': {
    codec: choice(...loadBalancings),
    default: 'round_robin',
    summary: 'How endpoints share requests: one after another (`round_robin`), or those with less to do (`ewma`).',
    example: 'ewma',
    envoy: FEWER_REQUESTS,
    nginx: FEWER_REQUESTS,
  },
  'service-upstream': {
    codec: boolean,
    default: false,
    summary: 'Whether requests go to the addresses of Services (`clusterIP`) instead of their endpoints.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'upstream-hash-by': {
    ...unused,
    codec: textOf('variables', 'text with variables'),
    default: '',
    summary: 'The annotation `upstream-hash-by` for all Ingresses.',
    example: '$request_uri',
  },
  'upstream-hash-by-subset': {
    ...unused,
    codec: boolean,
    default: false,
    summary: 'The annotation `upstream-hash-by-subset` for all Ingresses.',
    example: 'true',
  },
  'upstream-hash-by-subset-size': {
    ...unused,
    codec: integer({ min: 1, of: 'endpoints' }),
    default: 3,
    summary: 'The annotation `upstream-hash-by-subset-size` for all Ingresses.',
    example: '5',
  },
  'proxy-ssl-location-only': {
    codec: boolean,
    default: false,
    summary: 'Whether `proxy-ssl-*` hold for the paths of their Ingress alone, not for the rest of the host.',
    example: 'true',
    envoy: refused('they hold for the paths of their Ingress alone in any case'),
    nginx: refused('they hold for the paths of their Ingress alone in any case'),
  },
});
