import { annotationFeature } from '../declaration/annotation.ts';
import { tooLong } from '../declaration/list-limit.ts';
import { networks } from '../declaration/networks.ts';
import { HONOURED } from '../declaration/support.ts';

export const addressLists = annotationFeature({
  title: 'Addresses of clients',
  keys: {
    'allowlist-source-range': {
      codec: networks,
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'deny',
      whenEmpty: 'deny',
      alias: 'whitelist-source-range',
      configMap: 'whitelist-source-range',
      protects: 'paths',
      summary: 'Requests from all other addresses are answered 403. Redirects are answered to everybody.',
      example: '10.0.0.0/8,192.0.2.1',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'denylist-source-range': {
      codec: networks,
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'deny',
      whenEmpty: 'deny',
      configMap: 'denylist-source-range',
      protects: 'paths',
      summary:
        'Requests from these addresses are answered 403, also those that `allowlist-source-range` holds. Redirects are answered to everybody.',
      example: '203.0.113.0/24',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply(values, { global, ingress }) {
    const allow = values['allowlist-source-range'] ?? global['whitelist-source-range'];
    const deny = values['denylist-source-range'] ?? global['denylist-source-range'];
    const reason = tooLong(allow.length + deny.length, ingress);
    if (reason !== undefined) return { denied: [{ annotation: 'allowlist-source-range', reason }] };
    return allow.length === 0 && deny.length === 0 ? {} : { route: { addresses: { allow, deny } } };
  },
});
