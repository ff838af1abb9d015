import type { RoutePolicy } from '../../model/proxy-model.ts';
import { bodySizeLimit } from '../filters/body-size-limit.ts';
import type { ApplyPolicy } from './policy.ts';

/** Also where Envoy answers by itself: a body that is too large is refused before anything else happens. */
export const applyBodySize: ApplyPolicy<NonNullable<RoutePolicy['bodySize']>> = ({ maxBytes }, routes) =>
  routes.map((route) => ({
    ...route,
    typed_per_filter_config: { ...route.typed_per_filter_config, ...bodySizeLimit(maxBytes) },
  }));
