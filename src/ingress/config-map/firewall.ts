/** Web application firewall, and where clients are. */
import { anyText, boolean, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { PLANNED, refused } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;
const geo = refused('the place of a client is only seen by snippets and log formats of nginx, which are not there');

export const firewallKeys = configMapKeys({
  'enable-modsecurity': {
    ...planned,
    codec: boolean,
    default: false,
    protects: (value) => value,
    summary: 'Whether all requests are checked by ModSecurity.',
    example: 'true',
  },
  'enable-owasp-modsecurity-crs': {
    ...planned,
    codec: boolean,
    default: false,
    protects: (value) => value,
    summary: 'Whether ModSecurity uses the OWASP Core Rule Set.',
    example: 'true',
  },
  'modsecurity-snippet': {
    ...planned,
    codec: anyText,
    default: '',
    protects: () => true,
    summary: 'Directives of ModSecurity for all requests.',
    example: 'SecRuleEngine On',
  },
  'use-geoip2': {
    envoy: geo,
    nginx: geo,
    codec: boolean,
    default: false,
    summary: 'Whether the place of a client is looked up.',
    example: 'true',
  },
  'use-geoip': {
    envoy: geo,
    nginx: geo,
    codec: boolean,
    default: false,
    summary: 'An older name that ingress-nginx no longer reads.',
    example: 'true',
  },
  'geoip2-autoreload-in-minutes': {
    envoy: geo,
    nginx: geo,
    codec: integer({ of: 'minutes' }),
    default: 0,
    summary: 'How often the database of places is read again.',
    example: '60',
  },
});
