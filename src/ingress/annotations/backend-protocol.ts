import { type BackendTlsValues, backendTlsKeys, namesOf, readBackendTls } from '../backend-tls.ts';
import { annotationFeature, type Finding, leftoverFindings } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { choiceInAnyCase } from '../declaration/codecs.ts';
import { objectName } from '../declaration/references.ts';
import { approximated, refused } from '../declaration/support.ts';

const NO_FASTCGI = refused(
  'FastCGI is not spoken with backends; let a web server beside the application speak it, and lead the Ingress to that',
);

const CLOSED =
  '"FCGI" is not spoken with backends; let a web server beside the application speak it, and lead the Ingress to that';

const FCGI_CLOSED = 'Paths with `FCGI` answer 503.';
const isFastCgi = (protocol: string) => protocol === 'FCGI';

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
      envoy: approximated(FCGI_CLOSED, isFastCgi),
      nginx: approximated(FCGI_CLOSED, isFastCgi),
    },
    ...backendTlsKeys,
    'fastcgi-index': {
      codec: codec('a file name', (text) => (/^[A-Za-z0-9._-]+$/.test(text) ? text : undefined)),
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'refuse',
      summary: 'The file that FastCGI is asked for where a path ends with a slash.',
      example: 'index.php',
      envoy: NO_FASTCGI,
      nginx: NO_FASTCGI,
    },
    'fastcgi-params-configmap': {
      codec: objectName,
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'refuse',
      summary: 'A ConfigMap with parameters for FastCGI.',
      example: 'shop/fastcgi-params',
      envoy: NO_FASTCGI,
      nginx: NO_FASTCGI,
    },
  },
  apply(values, context) {
    const protocol = values['backend-protocol'] ?? 'HTTP';
    if (protocol === 'FCGI') return { denied: [{ annotation: 'backend-protocol', reason: CLOSED }] };
    const { tls, denied, warnings } = readBackendTls(values, context);
    if (denied !== undefined) return { denied: [{ annotation: 'proxy-ssl-secret', reason: denied }], warnings };
    const inPlainText = protocol === 'HTTP' || protocol === 'GRPC';
    return {
      ...(protocol !== 'HTTP' && {
        cluster: { backendProtocol: protocol, ...(!inPlainText && tls && { backendTls: tls }) },
      }),
      warnings: inPlainText && tls !== undefined ? withoutTls(values) : warnings,
    };
  },
});

/** Backends that are spoken to in plain text have no certificate to look at. */
function withoutTls(values: BackendTlsValues): Finding[] {
  return leftoverFindings(namesOf(values), 'it has no effect on backends without TLS (backend-protocol)');
}
