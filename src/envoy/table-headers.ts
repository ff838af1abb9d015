/** What a route table does to the headers of all its hosts. */
import type {
  envoy_config_core_v3_HeaderValueOption as HeaderValueOption,
  envoy_config_route_v3_RouteConfiguration as RouteConfiguration,
} from '../gen/messages.ts';
import type { HeaderTemplate } from '../model/headers.ts';
import type { HeaderSettings, ProxySettings } from '../model/settings.ts';
import { isConstant } from '../model/template.ts';
import { answerFormatString, formatString } from './format.ts';
import { addIfAbsent, headersOverTls, overwrite, REQUEST_HEADERS_TO_REMOVE, requestHeaders } from './headers.ts';
import { SENT_REFERER } from './policies/blocked.ts';

type HeaderFields = Pick<
  RouteConfiguration,
  | 'request_headers_to_add'
  | 'request_headers_to_remove'
  | 'response_headers_to_add'
  | 'response_headers_to_remove'
  | 'most_specific_header_mutations_wins'
>;

/** @param secure whether it is the table for requests over TLS. */
export function tableHeaders(
  settings: Pick<ProxySettings, 'headers' | 'forwarded' | 'listener' | 'blocked'>,
  secure: boolean,
): HeaderFields {
  const { forwarded, blocked } = settings;
  const { request, response, server } = settings.headers;
  const replaced = new Set([...request.set.map(({ name }) => name), ...request.remove].map(lowerCase));
  return {
    response_headers_to_add: [
      ...(secure ? headersOverTls(settings) : []),
      ...(server === 'none' ? [] : [SERVER[server]]),
      ...response.set.map(({ name, value }) => overwrite(name, answerFormatString(value))),
    ],
    response_headers_to_remove: [
      // Backends do not tell clients what they run.
      ...(server === 'none' ? ['server'] : []),
      ...response.remove,
      ...response.set.filter(({ value }) => !isConstant(value)).map(({ name }) => name),
    ],
    request_headers_to_add: [
      ...requestHeaders(forwarded).filter(({ header }) => !replaced.has(lowerCase(header?.key ?? ''))),
      ...request.set.map(({ name, value }) => overwrite(name, formatString(value))),
    ],
    request_headers_to_remove: [
      ...REQUEST_HEADERS_TO_REMOVE,
      ...(blocked.referers.length > 0 ? [SENT_REFERER] : []),
      ...request.remove,
      ...computedHeaders(request.set),
    ],
    // What a route says about a header counts more than what stands here.
    most_specific_header_mutations_wins: true,
  };
}

const SERVER: Readonly<Record<Exclude<HeaderSettings['server'], 'none'>, HeaderValueOption>> = {
  proxy: overwrite('server', 'nginx'),
  backend: addIfAbsent('server', 'nginx'),
};

/**
 * Envoy sets nothing where a value turns out empty, so that what a client says would count: it is removed first. Not so what a
 * value is made of, since all that is removed goes before anything is computed.
 */
function computedHeaders(set: readonly HeaderTemplate[]): string[] {
  const used = new Set(
    set.flatMap(({ value }) =>
      value.flatMap((part) =>
        typeof part !== 'string' && part.variable === 'http'
          ? [lowerCase(part.argument ?? '').replaceAll('_', '-')]
          : [],
      ),
    ),
  );
  return set.filter(({ name, value }) => !isConstant(value) && !used.has(lowerCase(name))).map(({ name }) => name);
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
