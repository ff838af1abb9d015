/** Bodies of requests and answers. */
import { bodyDeclarations as shared } from '../declaration/bodies.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';

export const bodyKeys = configMapKeys({
  'proxy-body-size': { ...shared['proxy-body-size'], default: 1024 ** 2, shownDefault: '1m' },
  'client-body-buffer-size': { ...shared['client-body-buffer-size'], default: 8 * 1024, shownDefault: '8k' },
  'proxy-request-buffering': { ...shared['proxy-request-buffering'], default: true, shownDefault: 'on' },
  'proxy-buffering': { ...shared['proxy-buffering'], default: false, shownDefault: 'off' },
  'proxy-buffer-size': { ...shared['proxy-buffer-size'], default: 4 * 1024, shownDefault: '4k' },
  'proxy-buffers-number': { ...shared['proxy-buffers-number'], default: 4 },
  'proxy-busy-buffers-size': {
    ...shared['proxy-busy-buffers-size'],
    default: 0,
    shownDefault: 'two buffers',
    defaultInWords: true,
  },
  'proxy-max-temp-file-size': { ...shared['proxy-max-temp-file-size'], default: 1024 ** 3, shownDefault: '1024m' },
  'proxy-http-version': { ...shared['proxy-http-version'], default: '1.1' },
  'limit-rate': { ...shared['limit-rate'], default: 0 },
  'limit-rate-after': { ...shared['limit-rate-after'], default: 0 },
});
