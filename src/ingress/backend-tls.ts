/** `proxy-ssl-*`: TLS to backends. They belong to the feature of `backend-protocol`, without which there is none. */

import { type BackendTls, type TlsVersion, tlsVersions } from '../model/proxy-model.ts';
import { parseBackendSecret } from './backend-secret.ts';
import { type FeatureContext, type Finding, ignoredFindings } from './declaration/annotation.ts';
import { cipherList, ciphersFor } from './declaration/ciphers.ts';
import { codec } from './declaration/codec.ts';
import { integer, onOff } from './declaration/codecs.ts';
import { keyOf, type NamedObject, objectName } from './declaration/references.ts';
import { approximated, HONOURED, refused } from './declaration/support.ts';
import { quote } from './diagnose.ts';

const common = { scope: 'service', risk: 'Low', whenInvalid: 'default', envoy: HONOURED, nginx: HONOURED } as const;

/** The name that nginx expects, and sends, where none is given: it is that of the group of backends in ingress-nginx. */
const DEFAULT_NAME = 'upstream_balancer';

export const backendTlsKeys = {
  'proxy-ssl-secret': {
    ...common,
    codec: objectName,
    risk: 'Medium',
    whenInvalid: 'refuse',
    refersTo: 'Secret',
    summary:
      'A Secret (`namespace/name`) for TLS to backends: `tls.crt` and `tls.key` are shown to them, `ca.crt` is what `proxy-ssl-verify` checks them against. The others of this group have an effect only beside it. Paths answer 503 while it is missing or broken.',
    example: 'shop/backend-tls',
  },
  'proxy-ssl-verify': {
    ...common,
    codec: onOff,
    default: 'off',
    summary:
      'Whether backends must show a certificate of `ca.crt` for the name in `proxy-ssl-name`; else requests answer 502. Without a `ca.crt` in the Secret paths answer 503.',
    example: 'on',
    envoy: approximated('Names are looked for among the alternative names of a certificate, not in its common name.'),
  },
  'proxy-ssl-verify-depth': {
    ...common,
    codec: integer({ max: 99, of: 'certificates' }),
    default: '1',
    summary: 'How many certificates may stand between that of a backend and the authority.',
    example: '2',
    envoy: refused(
      'Envoy takes chains of any length to an authority of `ca.crt`; have in `ca.crt` the authority that signs the certificates of backends',
    ),
  },
  'proxy-ssl-name': {
    ...common,
    codec: codec('the name of a server', (text) => (/^[A-Za-z0-9._:-]{1,253}$/.test(text) ? text : undefined)),
    risk: 'High',
    summary: 'The name that the certificate of a backend must carry, and that is sent with `proxy-ssl-server-name`.',
    example: 'web.shop.svc.cluster.local',
  },
  'proxy-ssl-server-name': {
    ...common,
    codec: onOff,
    default: 'off',
    summary: 'Whether backends are told a server name (SNI) in the handshake.',
    example: 'on',
  },
  'proxy-ssl-protocols': {
    ...common,
    codec: codec(`a list of ${tlsVersions.join(' and ')}`, parseVersions),
    default: 'TLSv1.2',
    summary: 'The versions of TLS that backends are spoken to with.',
    example: 'TLSv1.2 TLSv1.3',
  },
  'proxy-ssl-ciphers': {
    ...common,
    codec: cipherList,
    risk: 'Medium',
    default: 'DEFAULT',
    summary: 'The ciphers of TLS 1.2 that backends are offered.',
    example: 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384',
    envoy: approximated('Groups such as `DEFAULT` and `HIGH` mean the list of Envoy, and it has no ciphers with DHE.'),
    nginx: approximated('Groups such as `DEFAULT` and `HIGH` mean the list of OpenSSL.'),
  },
} as const;

export interface BackendTlsValues {
  readonly 'proxy-ssl-secret'?: NamedObject;
  readonly 'proxy-ssl-verify'?: boolean;
  readonly 'proxy-ssl-verify-depth'?: number;
  readonly 'proxy-ssl-name'?: string;
  readonly 'proxy-ssl-server-name'?: boolean;
  readonly 'proxy-ssl-protocols'?: readonly TlsVersion[];
  readonly 'proxy-ssl-ciphers'?: readonly string[];
}

/** What the annotations ask for, or why the paths must be closed. */
export function readBackendTls(
  values: BackendTlsValues,
  context: FeatureContext,
): { readonly tls?: BackendTls; readonly denied?: string; readonly warnings: readonly Finding[] } {
  const named = values['proxy-ssl-secret'];
  if (named === undefined) return { warnings: withoutSecret(values) };
  const found = findSecret(named, context);
  if ('reason' in found) return { denied: found.reason, warnings: [] };
  const { name: secret, pair, authorities } = found.secret;
  const verifies = values['proxy-ssl-verify'] ?? false;
  if (verifies && authorities === undefined)
    return { denied: `Secret ${secret} has no ca.crt, which proxy-ssl-verify needs`, warnings: [] };
  const name = values['proxy-ssl-name'] ?? DEFAULT_NAME;
  const { ciphers, warnings } = readCiphers(values['proxy-ssl-ciphers'] ?? [], context);
  return {
    tls: {
      secret,
      showsCertificate: pair !== undefined,
      ...(verifies && { verify: { name, depth: values['proxy-ssl-verify-depth'] ?? 1 } }),
      ...(values['proxy-ssl-server-name'] && { serverName: name }),
      versions: values['proxy-ssl-protocols'] ?? ['TLSv1.2'],
      ...(ciphers.length > 0 && { ciphers }),
    },
    warnings: [...warnings, ...(verifies && values['proxy-ssl-name'] === undefined ? [NAMELESS] : [])],
  };
}

const NAMELESS: Finding = {
  annotation: 'proxy-ssl-verify',
  code: 'AnnotationDoubtful',
  reason: `certificates of backends must carry the name ${DEFAULT_NAME}, which is hardly what is meant; proxy-ssl-name says which one`,
};

/** Annotations that ask for something. */
export function namesOf(values: BackendTlsValues): readonly string[] {
  return Object.entries(values)
    .filter(([name, value]) => name in backendTlsKeys && value !== undefined && value !== false)
    .map(([name]) => name);
}

/** ingress-nginx ignores all of them without a Secret. */
function withoutSecret(values: BackendTlsValues): readonly Finding[] {
  return ignoredFindings(namesOf(values), 'it has no effect without proxy-ssl-secret');
}

function findSecret(named: NamedObject, { ingress, global, secret }: FeatureContext) {
  const { namespace, name } = named;
  if (namespace === undefined) return { reason: `${quote(name)} is not namespace/name` };
  if (namespace !== ingress.namespace && !global['allow-cross-namespace-resources'])
    return { reason: `${quote(`${namespace}/${name}`)} is in another namespace (allow-cross-namespace-resources)` };
  const key = keyOf(named, ingress.namespace);
  const found = secret(key);
  if (found === undefined) return { reason: `Secret ${key} does not exist` };
  const parsed = parseBackendSecret(key, found);
  return 'reason' in parsed ? { reason: `Secret ${key} ${parsed.reason}` } : parsed;
}

function readCiphers(items: readonly string[], { proxy }: FeatureContext) {
  if (items.length === 0) return { ciphers: [], warnings: [] };
  const decoded = ciphersFor(proxy, items);
  const warn = (reason: string): readonly Finding[] => [{ annotation: 'proxy-ssl-ciphers', reason }];
  if ('reason' in decoded)
    return { ciphers: [], warnings: warn(`${quote(items.join(':'))} ${decoded.reason}; DEFAULT holds instead`) };
  const { ciphers, dropped } = decoded.value;
  return {
    ciphers,
    warnings: dropped.length === 0 ? [] : warn(`the proxy has no ${dropped.join(', ')}; the others hold`),
  };
}

function parseVersions(text: string): readonly TlsVersion[] | undefined {
  const words = text.split(/\s+/);
  if (!words.every((word) => (tlsVersions as readonly string[]).includes(word))) return undefined;
  return tlsVersions.filter((version) => words.includes(version));
}
