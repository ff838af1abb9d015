import type { RoutePolicy } from '../../model/proxy-model.ts';
import type { ApplyPolicy } from './policy.ts';

type Log = NonNullable<RoutePolicy['log']>;

/** The namespace of the metadata of routes that the access log reads. */
export const INGRESS_METADATA = 'ingress';

/** Routes that are not logged say so, and the filter of the log heeds it; so a change reaches no listener. */
export const applyLog: ApplyPolicy<Log> = ({ off, ingress }, routes) => {
  if (!off && ingress === undefined) return routes;
  const fields = {
    ...(ingress !== undefined && { ingress: { string_value: ingress } }),
    ...(off && { log: { bool_value: false } }),
  };
  return routes.map((route) => ({
    ...route,
    metadata: {
      ...route.metadata,
      filter_metadata: { ...route.metadata?.filter_metadata, [INGRESS_METADATA]: { fields } },
    },
  }));
};
