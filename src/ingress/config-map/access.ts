/** Who may reach backends. */
import { configMapKeys } from '../declaration/config-map-key.ts';
import { networks } from '../declaration/networks.ts';
import { HONOURED } from '../declaration/support.ts';
import { textPatterns } from '../declaration/text-patterns.ts';

const list = {
  default: [],
  shownDefault: '',
  protects: (items: readonly unknown[]) => items.length > 0,
  envoy: HONOURED,
  nginx: HONOURED,
};
const addresses = { ...list, codec: networks };
const patterns = { ...list, codec: textPatterns };

export const accessKeys = configMapKeys({
  'whitelist-source-range': {
    ...addresses,
    summary: 'Requests from all other addresses are answered 403, where an Ingress has no list of its own.',
    example: '10.0.0.0/8',
  },
  'denylist-source-range': {
    ...addresses,
    summary: 'Requests from these addresses are answered 403, where an Ingress has no list of its own.',
    example: '203.0.113.0/24',
  },
  'block-cidrs': {
    ...addresses,
    summary: 'Requests from these addresses are answered 403, on every host and before any redirect.',
    example: '203.0.113.0/24',
  },
  'block-user-agents': {
    ...patterns,
    summary: 'Requests of these user agents are answered 403, on every host and before any redirect.',
    example: '~*badbot,curl/7.88.1',
  },
  'block-referers': {
    ...patterns,
    summary: 'Requests that come from these pages are answered 403, on every host and before any redirect.',
    example: '~*spam\\.example\\.com',
  },
});
