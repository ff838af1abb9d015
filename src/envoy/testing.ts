/** For tests: a model whose tables are inputs, so that a test says what is in it and what changes. */
import { deepEqual, type Engine, type Input } from '../derive.ts';
import type {
  BackendSecret,
  Certificate,
  CertificateName,
  Cluster,
  Endpoints,
  HostName,
  Listener,
  ProxyModel,
  Route,
  RoutePolicy,
  StreamListener,
  VirtualHost,
} from '../model/proxy-model.ts';
import { DEFAULT_SETTINGS, type ProxySettings, SETTINGS } from '../model/settings.ts';

export interface TestModel extends ProxyModel {
  readonly settings: Input<ProxySettings>;
  readonly listeners: Input<Listener>;
  readonly streamListeners: Input<StreamListener>;
  readonly virtualHosts: Input<VirtualHost>;
  readonly clusters: Input<Cluster>;
  readonly endpoints: Input<Endpoints>;
  readonly certificates: Input<Certificate>;
  readonly backendSecrets: Input<BackendSecret>;
  readonly onDemandNames: Input<CertificateName>;
}

export function createTestModel(engine: Engine): TestModel {
  const settings = engine.input<ProxySettings>('settings', deepEqual);
  settings.set(SETTINGS, DEFAULT_SETTINGS);
  return {
    settings,
    listeners: engine.input<Listener>('listener', deepEqual),
    streamListeners: engine.input<StreamListener>('stream-listener', deepEqual),
    virtualHosts: engine.input<VirtualHost>('virtual-host', deepEqual),
    clusters: engine.input<Cluster>('cluster', deepEqual),
    endpoints: engine.input<Endpoints>('endpoints', deepEqual),
    certificates: engine.input<Certificate>('certificate', deepEqual),
    backendSecrets: engine.input<BackendSecret>('backend-secret', deepEqual),
    onDemandNames: engine.input<CertificateName>('on-demand-name'),
  };
}

export function host(name: HostName, ...routes: readonly Route[]): VirtualHost {
  return { host: name, routes, diagnostics: [] };
}

/** `/foo` is a prefix, `=/foo` an exact path. The cluster is `shop/<service>/80`; the route comes from Ingress `shop/<service>`. */
export function forward(path: string, service: string, policy: RoutePolicy = {}): Route {
  const cluster = { name: `shop/${service}/80`, namespace: 'shop', service, port: '80' };
  const origin = { ingress: `shop/${service}`, field: 'spec.rules[0].http.paths[0]' };
  return { match: match(path), action: { kind: 'forward', cluster }, policy, origin };
}

export function respond(path: string, status: number, body = '', policy: RoutePolicy = {}): Route {
  return { match: match(path), action: { kind: 'respond', status, body }, policy };
}

/** What a host with TLS says on its routes by default. */
export const TO_HTTPS: RoutePolicy = { httpsRedirect: { status: 308 } };

function match(path: string): Route['match'] {
  return path.startsWith('=') ? { kind: 'exact', path: path.slice(1) } : { kind: 'prefix', path };
}
