/** Headers of requests and answers. */
import { configMapKeys } from '../declaration/config-map-key.ts';
import { headerNames } from '../declaration/headers.ts';
import { HONOURED } from '../declaration/support.ts';

export const headerKeys = configMapKeys({
  'global-allowed-response-headers': {
    codec: headerNames,
    default: [],
    shownDefault: '',
    summary: 'The headers that `custom-headers` may set, in the case in which they are written there.',
    example: 'X-Frame-Options,Content-Security-Policy',
    envoy: HONOURED,
    nginx: HONOURED,
  },
});
