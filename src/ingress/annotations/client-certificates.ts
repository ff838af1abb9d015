import { annotationFeature } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { boolean, choice, integer, textOf } from '../declaration/codecs.ts';
import { qualifiedName } from '../declaration/references.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { protects: 'paths', scope: 'host', envoy: PLANNED, nginx: PLANNED } as const;
const detail = { ...planned, needs: ['auth-tls-secret'] } as const;

export const clientCertificates = annotationFeature({
  title: 'Client certificates',
  keys: {
    'auth-tls-secret': {
      ...planned,
      protects: 'host',
      codec: qualifiedName,
      risk: 'Medium',
      whenInvalid: 'refuse',
      summary: 'The Secret whose `ca.crt` certificates of clients are checked against.',
      example: 'shop/ca',
    },
    'auth-tls-verify-client': {
      ...detail,
      codec: choice('on', 'off', 'optional', 'optional_no_ca'),
      risk: 'Medium',
      whenInvalid: 'default',
      default: 'on',
      summary: 'Whether clients must show a certificate.',
      example: 'optional',
    },
    'auth-tls-verify-depth': {
      ...detail,
      codec: integer(),
      risk: 'Low',
      whenInvalid: 'default',
      default: '1',
      summary: 'How many certificates may stand between that of the client and the authority.',
      example: '2',
    },
    'auth-tls-error-page': {
      ...detail,
      codec: textOf('url'),
      risk: 'High',
      whenInvalid: 'refuse',
      summary: 'Where clients without a valid certificate are sent.',
      example: 'https://shop.example.com/no-certificate',
    },
    'auth-tls-pass-certificate-to-upstream': {
      ...detail,
      codec: boolean,
      risk: 'Low',
      whenInvalid: 'refuse',
      default: 'false',
      summary: 'Whether backends get the certificate of the client.',
      example: 'true',
    },
    'auth-tls-match-cn': {
      ...detail,
      codec: codec('CN= and an expression', (text) => (text.startsWith('CN=') ? text : undefined)),
      risk: 'High',
      whenInvalid: 'refuse',
      summary: 'What the subject of the certificate must match.',
      example: 'CN=client',
    },
  },
});
