import type { CorsPolicy } from '../../model/cors.ts';
import { cors } from '../filters/cors.ts';
import { type ApplyPolicy, oncePer } from './policy.ts';

const configOf = oncePer(cors);

/** Also where Envoy answers by itself, since redirects and errors are read by pages too. */
export const applyCors: ApplyPolicy<CorsPolicy> = (policy, routes) =>
  routes.map((route) => ({
    ...route,
    typed_per_filter_config: { ...route.typed_per_filter_config, ...configOf(policy) },
  }));
