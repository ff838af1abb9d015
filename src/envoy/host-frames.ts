import type { Engine, Reader, Table } from '../derive.ts';
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import { DEFAULT_HOST, type HostName, type ProxyModel } from '../model/proxy-model.ts';
import { claimsScheme, SETTINGS } from '../model/settings.ts';
import type { Encoder } from './encoder.ts';
import { encodeFrame, type Frame, sameFrame } from './frame.ts';
import { claimedView, type HostView, httpsView, httpView } from './http-view.ts';
import { isWildcard } from './server-name-matcher.ts';
import { checkHost } from './validate.ts';

type TableName = 'http' | 'https';

/** What a table shows of a host. */
type ViewOf = (host: HostName, read: Reader) => HostView | undefined;

/** Two frames per host, one where both route tables show the same. A wildcard host changes with the default server. */
export function deriveHostFrames(
  engine: Engine,
  { virtualHosts, settings }: Pick<ProxyModel, 'virtualHosts' | 'settings'>,
  encoder: Encoder,
): Readonly<Record<TableName, Table<Frame>>> {
  // A unit of its own, so that other settings reach no host.
  const claims = engine.derive<boolean>('claims-scheme', settings, (name, read) => {
    const current = read(settings, name);
    return current && claimsScheme(current);
  });
  const views = engine.derive<HostView | 'same'>('http-view', virtualHosts, (host, read) => {
    const virtualHost = read(virtualHosts, host);
    if (virtualHost === undefined || !read(claims, SETTINGS)) return virtualHost && httpView(virtualHost);
    return virtualHost.passthrough === undefined ? 'same' : claimedView(virtualHost);
  });
  const httpsViewOf: ViewOf = (host, read) => {
    const virtualHost = read(virtualHosts, host);
    const isClaimed = virtualHost?.passthrough === undefined && read(claims, SETTINGS);
    return virtualHost && (isClaimed ? claimedView(virtualHost) : httpsView(virtualHost));
  };
  const httpViewOf: ViewOf = (host, read) => {
    const view = read(views, host);
    return view === 'same' ? httpsViewOf(host, read) : view;
  };
  const viewOf = { http: httpViewOf, https: httpsViewOf };
  // As they can be sent, since every wildcard host repeats them.
  const defaultRoutes = engine.derive<readonly RouteMessage[]>('default-routes', ['http', 'https'], (table, read) => {
    const view = viewOf[table as TableName](DEFAULT_HOST, read);
    return view && checkHost(view).routes;
  });
  const frameOf = (table: TableName, host: HostName, read: Reader) => {
    const view = viewOf[table](host, read);
    if (view === undefined) return undefined;
    const otherwise = isWildcard(host) ? read(defaultRoutes, table) : undefined;
    return encodeFrame(encoder, otherwise ? { ...view, otherwise } : view);
  };
  const https = engine.derive<Frame>(
    'https-frame',
    virtualHosts,
    (host, read) => {
      const frame = frameOf('https', host, read);
      if (frame === undefined || read(virtualHosts, host)?.passthrough === undefined) return frame;
      // Users are told by this table what is wrong with routes, which are in the other one then.
      const plain = httpViewOf(host, read);
      return plain && { ...frame, diagnostics: checkHost(plain).diagnostics };
    },
    sameFrame,
  );
  // The one is made of the other.
  if (encoder.checksOnly) return { http: https, https };
  const isSame = (host: HostName, read: Reader) =>
    read(views, host) === 'same' && (!isWildcard(host) || read(views, DEFAULT_HOST) === 'same');
  const http = engine.derive<Frame>(
    'http-frame',
    views,
    (host, read) => (isSame(host, read) ? read(https, host) : frameOf('http', host, read)),
    sameFrame,
  );
  return { http, https };
}
