import type { Pace, RequestBuffering } from '../../model/buffering.ts';
import type { RoutePolicy } from '../../model/proxy-model.ts';
import { bodySizeLimit } from '../filters/body-size-limit.ts';
import { pacedAt } from '../filters/pace.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

/** Bodies of up to this size can be sent again in any case: it stands on every host. */
export const KEPT_BODY_BYTES = 1024 ** 2;

/** Each request may take so much memory of the proxy, whatever an Ingress asks for. */
const MOST_KEPT_BODY_BYTES = 16 * 1024 ** 2;

/** Also where Envoy answers by itself: a body that is too large is refused before anything else happens. */
export const applyBodySize: ApplyPolicy<NonNullable<RoutePolicy['bodySize']>> = ({ maxBytes }, routes) =>
  routes.map((route) => ({
    ...route,
    typed_per_filter_config: { ...route.typed_per_filter_config, ...bodySizeLimit(maxBytes) },
  }));

export const applyRequestBuffering: ApplyPolicy<RequestBuffering> = ({ memoryBytes }, routes) =>
  memoryBytes <= KEPT_BODY_BYTES
    ? routes
    : changeForwards(routes, () => ({
        request_body_buffer_limit: { value: Math.min(memoryBytes, MOST_KEPT_BODY_BYTES) },
      }));

export const applyPace: ApplyPolicy<Pace> = ({ kilobytes }, routes) =>
  changeForwards(routes, (_, route) => ({
    typed_per_filter_config: { ...route.typed_per_filter_config, ...pacedAt(kilobytes) },
  }));
