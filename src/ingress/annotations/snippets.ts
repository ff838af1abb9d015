import { annotationFeature } from '../declaration/annotation.ts';
import { anyText } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

// Raw configuration may deny anything.
const snippet = {
  codec: anyText,
  risk: 'Critical',
  whenInvalid: 'refuse',
  envoy: PLANNED,
  nginx: PLANNED,
} as const;

export const snippets = annotationFeature({
  title: 'Snippets',
  keys: {
    'configuration-snippet': {
      ...snippet,
      protects: 'paths',
      scope: 'paths',
      summary: 'Directives of nginx for the paths of the Ingress.',
      example: 'more_set_headers "X-Frame-Options: DENY";',
    },
    'server-snippet': {
      ...snippet,
      protects: 'host',
      scope: 'host',
      summary: 'Directives of nginx for the host.',
      example: 'location /private { return 403; }',
    },
    'stream-snippet': {
      ...snippet,
      protects: 'paths',
      scope: 'host',
      summary: 'Directives of nginx for TCP and UDP.',
      example: 'server { listen 8000; proxy_pass 127.0.0.1:80; }',
    },
  },
});
