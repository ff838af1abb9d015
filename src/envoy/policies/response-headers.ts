import type { RoutePolicy } from '../../model/proxy-model.ts';
import { withoutHeaders } from '../filters/cors.ts';
import { answerFormatString } from '../format.ts';
import { overwrite } from '../headers.ts';
import { type ApplyPolicy, addResponseHeaders } from './policy.ts';

type ResponseHeaders = NonNullable<RoutePolicy['responseHeaders']>;

/** On every answer, whoever gives it. */
export const applyResponseHeaders: ApplyPolicy<ResponseHeaders> = ({ set, remove }, routes) => {
  const headers = set.map(({ name, value }) => overwrite(name, answerFormatString(value)));
  const names = new Set([...set.map(({ name }) => name), ...remove].map((name) => name.toLowerCase()));
  return routes.map((route) => ({
    ...addResponseHeaders(route, headers),
    ...(route.typed_per_filter_config && {
      typed_per_filter_config: withoutHeaders(route.typed_per_filter_config, names),
    }),
    ...(remove.length > 0 && {
      response_headers_to_remove: [...(route.response_headers_to_remove ?? []), ...remove],
    }),
  }));
};
