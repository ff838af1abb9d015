/**
 * What protects a backend. None of it can be honoured yet, so whatever carries it is closed (503): a protection is never dropped
 * in silence. A feature that learns to honour its keys takes them out of these lists.
 */
import { contentOf, parseBool } from './annotation.ts';

export interface Protection {
  /** The full annotation key. */
  readonly key: string;
  /** ingress-nginx applies it to every path of the host, also to those of other Ingresses. */
  readonly hostWide: boolean;
}

const ANNOTATIONS: readonly string[] = [
  // basic and digest authentication
  'auth-type',
  'auth-secret',
  'auth-secret-type',
  'auth-realm',
  // external authentication
  'auth-url',
  'auth-method',
  'auth-signin',
  'auth-signin-redirect-param',
  'auth-request-redirect',
  'auth-response-headers',
  'auth-snippet',
  'auth-proxy-set-headers',
  'auth-cache-key',
  'auth-cache-duration',
  'auth-always-set-cookie',
  'auth-keepalive',
  'auth-keepalive-requests',
  'auth-keepalive-timeout',
  'auth-keepalive-share-vars',
  'enable-global-auth',
  'satisfy',
  // client certificates
  'auth-tls-verify-client',
  'auth-tls-verify-depth',
  'auth-tls-error-page',
  'auth-tls-pass-certificate-to-upstream',
  'auth-tls-match-cn',
  // addresses of clients
  'allowlist-source-range',
  'whitelist-source-range',
  'denylist-source-range',
  // web application firewall
  'enable-modsecurity',
  'enable-owasp-core-rules',
  'modsecurity-snippet',
  'modsecurity-transaction-id',
  // raw configuration, which may deny anything
  'configuration-snippet',
  'stream-snippet',
];

const HOST_WIDE_ANNOTATIONS: readonly string[] = ['auth-tls-secret', 'server-snippet'];

const CONFIG_MAP_KEYS: readonly string[] = [
  'global-auth-url',
  'whitelist-source-range',
  'denylist-source-range',
  'block-cidrs',
  'block-user-agents',
  'block-referers',
  'enable-modsecurity',
];

/** Switches that protect nothing while they are off. */
const SWITCHES: ReadonlySet<string> = new Set(['enable-modsecurity', 'enable-owasp-core-rules']);

/** The protective annotations of an Ingress, in a fixed order. `prefix` is without its slash. */
export function protectiveAnnotations(annotations: Readonly<Record<string, string>>, prefix: string): Protection[] {
  const present = (names: readonly string[], hostWide: boolean) =>
    names
      .filter((name) => protects(name, contentOf(annotations, `${prefix}/${name}`)))
      .map((name) => ({ key: `${prefix}/${name}`, hostWide }));
  return [...present(HOST_WIDE_ANNOTATIONS, true), ...present(ANNOTATIONS, false)];
}

/** The protective annotations that `after` adds to `before` or changes in it; what it takes away is not among them. */
export function changedProtections(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  prefix: string,
): Protection[] {
  return protectiveAnnotations(after, prefix).filter(({ key }) => contentOf(before, key) !== contentOf(after, key));
}

/** The protective keys of the ConfigMap, in a fixed order. */
export function protectiveKeys(data: Readonly<Record<string, string>>): string[] {
  return CONFIG_MAP_KEYS.filter((key) => protects(key, contentOf(data, key)));
}

function protects(name: string, content: string | undefined): boolean {
  if (content === undefined) return false;
  return !(SWITCHES.has(name) && parseBool(content) === false);
}
