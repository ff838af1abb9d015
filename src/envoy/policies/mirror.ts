import type { envoy_config_common_mutation_rules_v3_HeaderMutation as HeaderMutation } from '../../gen/messages.ts';
import { type Mirror, mirrorClusterName } from '../../model/mirror.ts';
import type { Template } from '../../model/template.ts';
import { MIRROR } from '../filters/mirror.ts';
import { formatString } from '../format.ts';
import { overwrite } from '../headers.ts';
import { COPY_HEADERS } from '../mirror-cluster.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

/** Where it stands, while a request is served, what its copy asks for. */
const PATH = 'ingress.copy-path';
const HOST = 'ingress.copy-host';

/** As long as nginx waits for an answer. It begins when the copy is complete. */
const ANSWER_MILLISECONDS = 60_000;

/**
 * The copy is made of what the backend gets, behind everything that could refuse the request. By then its path may be another one, so it is
 * put together before.
 */
export const applyMirror: ApplyPolicy<Mirror> = ({ target, path, host, body }, routes) =>
  changeForwards(routes, (action, route) => ({
    typed_per_filter_config: {
      ...route.typed_per_filter_config,
      [MIRROR.name]: {
        '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config',
        on_request_headers: [noted(PATH, path), noted(HOST, host)],
      },
    },
    route: {
      ...action,
      request_mirror_policies: [
        {
          cluster: mirrorClusterName(target),
          disable_shadow_host_suffix_append: true,
          request_headers_mutations: [
            // A value that comes to nothing is not set, so that those of the client would stay.
            ...Object.values(COPY_HEADERS).map((remove) => ({ remove })),
            set(COPY_HEADERS.path, `%FILTER_STATE(${PATH}:PLAIN)%`),
            set(COPY_HEADERS.host, `%FILTER_STATE(${HOST}:PLAIN)%`),
            set(COPY_HEADERS.body, body ? 'whole' : 'none'),
            set(COPY_HEADERS.forwardedFor, '%REQ(X-FORWARDED-FOR)%'),
            // What the client said of a trace: see filters/trace-context.ts.
            set(COPY_HEADERS.traceparent, '%FILTER_STATE(traceparent:PLAIN)%'),
            set(COPY_HEADERS.tracestate, '%FILTER_STATE(tracestate:PLAIN)%'),
            // A copy is sent once.
            { remove: 'x-envoy-retry-on' },
            set('x-envoy-upstream-rq-timeout-ms', String(ANSWER_MILLISECONDS)),
          ],
        },
      ],
    },
  }));

function noted(key: string, template: Template) {
  return {
    object_key: key,
    factory_key: 'envoy.string',
    format_string: { text_format_source: { inline_string: formatString(template) }, omit_empty_values: true },
  };
}

function set(name: string, value: string): HeaderMutation {
  return { append: overwrite(name, value) };
}
