import type { IngressBackend } from '../cluster/objects.ts';
import type { PathRewrite, RoutePolicy } from '../model/proxy-model.ts';
import type { RouteTracing } from '../model/tracing.ts';
import { forBackend } from './declaration/backend-template.ts';
import { httpsRedirectOf } from './redirects.ts';
import type { ServedIngress } from './served-ingress.ts';

/** What one path asks for beside its Ingress. */
export interface PathPolicy {
  readonly path: string;
  readonly rewrite?: PathRewrite | undefined;
  readonly backend?: IngressBackend;
}

/** An Ingress, or where there is none, what the ConfigMap asks for. */
export type PolicySource = Pick<ServedIngress, 'route' | 'host'> & Partial<Pick<ServedIngress, 'key' | 'namespace'>>;

/** The policy of a path that is open. `tls`: whether the host has TLS. */
export function policyOfPath(
  { route, host, key = '', namespace = '' }: PolicySource,
  { path, rewrite, backend }: PathPolicy,
  tls: { readonly tls: boolean; readonly httpsPort: number },
): RoutePolicy {
  // A rewrite to a URL sends clients away before anything asks for https, as in ingress-nginx.
  const httpsRedirect = rewrite?.redirects ? undefined : httpsRedirectOf(host, path, tls);
  const { upstreamHost, tracing } = host;
  if ([httpsRedirect, rewrite, upstreamHost, tracing].every((one) => one === undefined)) return route;
  const ingress = { namespace, name: key.slice(key.indexOf('/') + 1) };
  return {
    ...route,
    ...(rewrite && { rewrite }),
    ...(upstreamHost && { upstreamHost: forBackend(upstreamHost, ingress, backend) }),
    ...(httpsRedirect && { httpsRedirect }),
    ...(tracing && {
      tracing: {
        operation: forBackend(tracing.operation ?? [path], ingress, backend),
        ...(key !== '' && { ingress: key }),
        ...tracedService(backend),
      },
    }),
  };
}

function tracedService(backend: IngressBackend | undefined): Pick<RouteTracing, 'service'> {
  const { name, port } = backend?.service ?? {};
  return name === undefined ? {} : { service: { name, port: String(port?.number ?? port?.name ?? '') } };
}
