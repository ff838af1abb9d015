/** Expressions of CEL in formats and filters of the access log. */
import type { envoy_config_core_v3_CelExpressionConfig as CelExpressionConfig } from '../gen/messages.ts';

/** What expressions may do beside what they can in headers. */
export const CEL_STRINGS = {
  enable_string_conversion: true,
  enable_string_concat: true,
  enable_string_functions: true,
} as const satisfies CelExpressionConfig;

/** `%CEL(…)%` with these. */
export const CEL_FORMATTER = {
  name: 'envoy.formatter.cel',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.formatter.cel.v3.Cel',
    cel_config: CEL_STRINGS,
  },
} as const;

/**
 * The host of a request without its port, as it was written. An expression of RE2 is compiled for each request (30 µs), so that it is
 * asked only where there may be a port.
 */
export const HOST_WITHOUT_PORT =
  "(request.host.contains(':') ? re.extract(request.host, '^(.*?)(?::[0-9]+)?$', '\\\\1') : request.host)";
