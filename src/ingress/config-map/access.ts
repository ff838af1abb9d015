/** Who may reach backends. */
import { textList } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { networks } from '../declaration/networks.ts';
import { HONOURED, PLANNED } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;
const list = {
  ...planned,
  codec: textList,
  default: [],
  shownDefault: '',
  protects: (items: readonly string[]) => items.length > 0,
};
const addresses = { ...list, codec: networks, envoy: HONOURED, nginx: HONOURED };

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
  'block-cidrs': { ...list, summary: 'Requests from these addresses are answered 403.', example: '203.0.113.0/24' },
  'block-user-agents': {
    ...list,
    summary: 'Requests of these user agents are answered 403; `~` begins an expression.',
    example: '~*badbot',
  },
  'block-referers': {
    ...list,
    summary: 'Requests that come from these pages are answered 403; `~` begins an expression.',
    example: '~*spam.example.com',
  },
});
