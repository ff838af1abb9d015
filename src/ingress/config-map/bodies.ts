/** Bodies of requests and answers. */
import { size } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { HONOURED } from '../declaration/support.ts';

export const bodyKeys = configMapKeys({
  'proxy-body-size': {
    codec: size,
    default: 1024 ** 2,
    shownDefault: '1m',
    summary: 'Requests with a larger body are answered 413; `0` for no limit.',
    example: '8m',
    envoy: HONOURED,
    nginx: HONOURED,
  },
});
