import { backendTlsKeys, readBackendTls } from '../backend-tls.ts';
import { annotationFeature } from '../declaration/annotation.ts';
import { choiceInAnyCase } from '../declaration/codecs.ts';
import { approximated } from '../declaration/support.ts';

const NO_FASTCGI = 'it speaks no FastCGI';

export const backendProtocol = annotationFeature({
  title: 'Protocol of backends',
  keys: {
    'backend-protocol': {
      codec: choiceInAnyCase('HTTP', 'HTTPS', 'AUTO_HTTP', 'GRPC', 'GRPCS', 'FCGI'),
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'default',
      default: 'HTTP',
      summary:
        'What backends speak. TLS to backends is not verified unless `proxy-ssl-verify` asks for it. Ingresses may say different things about one Service.',
      example: 'HTTPS',
      envoy: approximated('It speaks no FastCGI: paths with `FCGI` answer 503.'),
      nginx: approximated('Paths with `FCGI` answer 503.'),
    },
    ...backendTlsKeys,
  },
  apply(values, context) {
    const protocol = values['backend-protocol'] ?? 'HTTP';
    if (protocol === 'FCGI')
      return { denied: [{ annotation: 'backend-protocol', reason: `"FCGI" is not possible here: ${NO_FASTCGI}` }] };
    const { tls, denied, warnings } = readBackendTls(values, context);
    if (denied !== undefined) return { denied: [{ annotation: 'proxy-ssl-secret', reason: denied }], warnings };
    if (protocol === 'HTTP') return { warnings };
    const hasTls = protocol !== 'GRPC' && tls !== undefined;
    return { cluster: { backendProtocol: protocol, ...(hasTls && { backendTls: tls }) }, warnings };
  },
});
