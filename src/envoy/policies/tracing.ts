import type { envoy_type_tracing_v3_CustomTag as CustomTag } from '../../gen/messages.ts';
import type { RouteTracing } from '../../model/tracing.ts';
import { TRACE_CONTEXT } from '../filters/trace-context.ts';
import { formatString } from '../format.ts';
import type { ApplyPolicy } from './policy.ts';

/** Also where Envoy answers by itself: the connection manager samples nothing unless a route asks for it. */
export const applyTracing: ApplyPolicy<RouteTracing> = (policy, routes) => {
  const custom_tags = tagsOf(policy);
  return routes.map((route) => ({
    ...route,
    tracing: {
      operation: formatString(policy.operation),
      ...(custom_tags.length > 0 && { custom_tags }),
    },
    typed_per_filter_config: {
      ...route.typed_per_filter_config,
      [TRACE_CONTEXT.name]: { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true },
    },
  }));
};

/** By the names of nginx's variables in ingress-nginx. */
function tagsOf({ ingress, service }: RouteTracing): CustomTag[] {
  const [namespace = '', name = ''] = ingress?.split('/') ?? [];
  const values = {
    ...(ingress !== undefined && { 'ingress.namespace': namespace, 'ingress.name': name }),
    ...(service && { 'ingress.service_name': service.name, 'ingress.service_port': service.port }),
  };
  return Object.entries(values).map(([tag, value]) => ({ tag, literal: { value } }));
}
