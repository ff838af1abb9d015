import { annotationFeature } from '../declaration/annotation.ts';
import { anyText, boolean, textOf } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { protects: 'paths', scope: 'paths', envoy: PLANNED, nginx: PLANNED } as const;
// The ConfigMap can switch the firewall on as well, and closes every Ingress while that cannot be honoured.
const detail = { ...planned, needs: ['enable-modsecurity'] } as const;
const whereOn = (value: boolean) => value;

export const firewall = annotationFeature({
  title: 'Web application firewall',
  keys: {
    'enable-modsecurity': {
      ...planned,
      protects: whereOn,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'default',
      default: 'false',
      summary: 'Whether requests are checked by ModSecurity.',
      example: 'true',
    },
    'enable-owasp-core-rules': {
      ...detail,
      protects: whereOn,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'default',
      default: 'false',
      summary: 'Whether ModSecurity uses the OWASP Core Rule Set.',
      example: 'true',
    },
    'modsecurity-snippet': {
      ...detail,
      codec: anyText,
      risk: 'Critical',
      whenInvalid: 'refuse',
      summary: 'Directives of ModSecurity.',
      example: 'SecRuleEngine On',
    },
    'modsecurity-transaction-id': {
      ...detail,
      codec: textOf('variables', 'variables'),
      risk: 'High',
      whenInvalid: 'default',
      summary: 'What ModSecurity calls a request in its log.',
      example: '$request_id',
    },
  },
});
