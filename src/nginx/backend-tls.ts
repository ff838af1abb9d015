import type { BackendTls } from '../model/proxy-model.ts';
import type { NginxDirective } from './config.ts';

/** Files for TLS to backends; one is absent where the Secret does not hold it. */
export interface BackendFiles {
  /** A certificate with its key. */
  readonly pair?: string;
  readonly authorities?: string;
}

/** TLS to the backends of a location. */
export function backendTlsDirectives(
  { showsCertificate, verify, serverName, versions, ciphers }: BackendTls,
  { pair, authorities }: BackendFiles,
): readonly NginxDirective[] {
  const directive = (name: string, ...parameters: NginxDirective['parameters']): NginxDirective => ({
    name: `proxy_ssl_${name}`,
    parameters,
  });
  const name = verify?.name ?? serverName;
  return [
    // What another location has agreed on with a backend must not count here.
    directive('session_reuse', 'off'),
    directive('protocols', ...versions),
    ...(ciphers === undefined ? [] : [directive('ciphers', ciphers.join(':'))]),
    ...(showsCertificate && pair !== undefined
      ? [directive('certificate', pair), directive('certificate_key', pair)]
      : []),
    ...(name === undefined ? [] : [directive('name', name)]),
    ...(serverName === undefined ? [] : [directive('server_name', 'on')]),
    ...(verify === undefined ? [] : [directive('verify', 'on'), directive('verify_depth', verify.depth)]),
    ...(verify === undefined || authorities === undefined ? [] : [directive('trusted_certificate', authorities)]),
  ];
}
