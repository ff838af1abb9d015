import { annotationFeature, type Effects } from '../declaration/annotation.ts';
import { cipherList, ciphersFor } from '../declaration/ciphers.ts';
import { boolean } from '../declaration/codecs.ts';
import { approximated, HONOURED, type ProxyName } from '../declaration/support.ts';

const ofHost = { scope: 'host', risk: 'Low' } as const;

export const clientTls = annotationFeature({
  title: 'TLS with clients',
  keys: {
    'ssl-ciphers': {
      ...ofHost,
      codec: cipherList,
      whenInvalid: 'refuse',
      configMap: 'ssl-ciphers',
      summary:
        'The ciphers of TLS 1.2 that clients of the host may speak. Those that the proxy has not are left out; those of the ConfigMap hold where none is left, and beyond 8 policies of a namespace.',
      example: 'ECDHE-RSA-AES128-GCM-SHA256',
      envoy: approximated('Groups such as `HIGH` mean the default, and there are no ciphers with DHE.'),
      nginx: approximated('Groups such as `HIGH` mean the default.'),
    },
    'ssl-prefer-server-ciphers': {
      ...ofHost,
      codec: boolean,
      whenInvalid: 'default',
      default: 'true',
      summary: 'Whether the order of the host counts among ciphers, and not that of clients.',
      example: 'false',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'ssl-passthrough': {
      ...ofHost,
      codec: boolean,
      whenInvalid: 'refuse',
      default: 'false',
      summary:
        "Whether TLS of the host goes through to the Service of its path `/`, which then speaks it with clients; only with `--enable-ssl-passthrough`, and in the namespace of the host's oldest Ingress.",
      example: 'true',
      envoy: HONOURED,
      nginx: approximated('Not together with `use-forwarded-headers` or `enable-real-ip` without PROXY protocol.'),
    },
  },
  apply(values, { proxy, noPassthrough }) {
    const ciphers = readCiphers(values['ssl-ciphers'], proxy);
    const passthrough = readPassthrough(values['ssl-passthrough'] ?? false, noPassthrough);
    const prefersServerCiphers = values['ssl-prefer-server-ciphers'];
    return {
      host: {
        ...ciphers.host,
        ...passthrough.host,
        ...(prefersServerCiphers !== undefined && { prefersServerCiphers }),
      },
      warnings: [...ciphers.warnings, ...passthrough.warnings],
    };
  },
});

type Part = Required<Pick<Effects, 'host' | 'warnings'>>;

const NOTHING: Part = { host: {}, warnings: [] };

function readPassthrough(isAskedFor: boolean, whyNot: string | undefined): Part {
  if (!isAskedFor) return NOTHING;
  if (whyNot === undefined) return { host: { passthrough: true }, warnings: [] };
  const reason = `${whyNot}; TLS of its hosts ends here`;
  return {
    host: {},
    warnings: [{ annotation: 'ssl-passthrough', reason, code: 'PassthroughUnavailable', ignored: true }],
  };
}

/** None counts where the proxy has none of a list: a list that nobody can speak would close the host to TLS 1.2. */
function readCiphers(items: readonly string[] | undefined, proxy: ProxyName): Part {
  if (items === undefined) return NOTHING;
  const decoded = ciphersFor(proxy, items);
  if ('reason' in decoded) {
    const reason = `the list ${decoded.reason}; what ssl-ciphers says in the ConfigMap holds instead`;
    return { host: {}, warnings: [{ annotation: 'ssl-ciphers', reason }] };
  }
  const { ciphers, dropped } = decoded.value;
  const reason = `the proxy has no ${dropped.join(', ')}; the others of the list hold`;
  return { host: { ciphers }, warnings: dropped.length === 0 ? [] : [{ annotation: 'ssl-ciphers', reason }] };
}
