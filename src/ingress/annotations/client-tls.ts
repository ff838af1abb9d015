import { annotationFeature } from '../declaration/annotation.ts';
import { cipherList } from '../declaration/ciphers.ts';
import { boolean } from '../declaration/codecs.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { scope: 'host', risk: 'Low', envoy: PLANNED, nginx: PLANNED } as const;

export const clientTls = annotationFeature({
  title: 'TLS with clients',
  keys: {
    'ssl-ciphers': {
      ...planned,
      codec: cipherList,
      whenInvalid: 'refuse',
      summary: 'The ciphers of TLS 1.2 that clients of the host may speak.',
      example: 'ECDHE-RSA-AES128-GCM-SHA256',
    },
    'ssl-prefer-server-ciphers': {
      ...planned,
      codec: boolean,
      whenInvalid: 'default',
      default: 'true',
      summary: 'Whether the order of the host counts among ciphers, and not that of clients.',
      example: 'false',
    },
    'ssl-passthrough': {
      ...planned,
      codec: boolean,
      whenInvalid: 'refuse',
      summary: 'Whether the TLS of the host is ended by its backend; only with `--enable-ssl-passthrough`.',
      example: 'true',
    },
  },
});
