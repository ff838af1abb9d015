import type { ConfigMapValues } from './config-map/keys.ts';
import type { ProxyName } from './declaration/support.ts';

export interface PassthroughOptions {
  /** `--enable-ssl-passthrough` */
  readonly sslPassthrough?: boolean;
  /** Why this proxy cannot pass TLS through; absent where it can. */
  readonly noPassthrough?: string;
  readonly proxy: ProxyName;
}

/** Why no TLS is passed through, whatever Ingresses ask for; `undefined` where it is. */
export function passthroughProblem(
  { sslPassthrough = false, noPassthrough, proxy }: PassthroughOptions,
  values: ConfigMapValues,
): string | undefined {
  if (!sslPassthrough) return 'only with the flag --enable-ssl-passthrough';
  if (noPassthrough !== undefined || proxy !== 'nginx' || values['use-proxy-protocol']) return noPassthrough;
  // nginx takes the address of a client from one place: from the connection, which ends in front of it, or from a header.
  const key = (['use-forwarded-headers', 'enable-real-ip'] as const).find((name) => values[name]);
  if (key === undefined) return undefined;
  return `nginx cannot pass TLS through and take the address of clients from a header (${key}, without use-proxy-protocol)`;
}
