import {
  type envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  envoy_extensions_filters_http_header_to_metadata_v3_Config_ValueEncode as ValueEncode,
} from '../../gen/messages.ts';
import type { RequestLog } from '../../model/settings.ts';

const NAMESPACE = 'ingress.user';
const KEY = 'credentials';

/**
 * Decodes what a client sends for `Authorization: Basic`, as nothing else of Envoy can. It is kept beside the request for the log, which
 * writes the part in front of the colon; nothing else reads it, and no backend sees it.
 */
const LOGGED_USER_FILTER: HttpFilter = {
  name: 'logged-user',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.header_to_metadata.v3.Config',
    request_rules: [
      {
        header: 'authorization',
        on_header_present: {
          metadata_namespace: NAMESPACE,
          key: KEY,
          encode: ValueEncode.BASE64,
          // Of any other header nothing is left, and nothing is not kept.
          regex_value_rewrite: { pattern: { regex: '(?is)^(?:basic +([^ =]*).*|.*)$' }, substitution: '\\1' },
        },
      },
    ],
  },
};

/** Only where the log names users. */
export function loggedUser(log: RequestLog | undefined): readonly HttpFilter[] {
  const isNamed = log?.format.some((part) => typeof part !== 'string' && part.variable === 'remote_user');
  return isNamed ? [LOGGED_USER_FILTER] : [];
}

const CREDENTIALS = `metadata.filter_metadata['${NAMESPACE}']['${KEY}']`;

/** No user without a colon, as for nginx; and none whose name could end the line, since a client can encode any character. */
export const LOGGED_USER = {
  cel: `${CREDENTIALS}.split(':')[0]`,
  when: `'${NAMESPACE}' in metadata.filter_metadata && ${CREDENTIALS}.matches('^[^[:cntrl:]:]+:')`,
} as const;
