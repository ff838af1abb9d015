/** Directives of the module for HTTP backends, and what they are called in the one for gRPC. */
import type { NginxDirective } from './config.ts';

/** What stands behind `proxy_` and behind `grpc_` alike. */
const SHARED = new Set([
  'bind',
  'buffer_size',
  'connect_timeout',
  'hide_header',
  'ignore_headers',
  'intercept_errors',
  'next_upstream',
  'next_upstream_timeout',
  'next_upstream_tries',
  'pass_header',
  'read_timeout',
  'send_timeout',
  'set_header',
  'socket_keepalive',
  'ssl_certificate',
  'ssl_certificate_key',
  'ssl_ciphers',
  'ssl_name',
  'ssl_protocols',
  'ssl_server_name',
  'ssl_session_reuse',
  'ssl_trusted_certificate',
  'ssl_verify',
  'ssl_verify_depth',
]);

/** A directive as a location for gRPC has it; none for what does not exist there, such as buffering. */
export function grpcDirective(directive: NginxDirective): readonly NginxDirective[] {
  const { name, parameters } = directive;
  if (!name.startsWith('proxy_')) return [directive];
  const shared = name.slice('proxy_'.length);
  return SHARED.has(shared) ? [{ name: `grpc_${shared}`, parameters }] : [];
}
