/** What holds for the proxy as a whole: for all hosts, or for all clusters. */
export interface ProxySettings {
  readonly upstream: UpstreamSettings;
}

/** Connections to backends, where a cluster says nothing else. */
export interface UpstreamSettings {
  readonly connectTimeoutSeconds: number;
}

/** The only key of `ProxyModel.settings`. */
export const SETTINGS = 'settings';

/** What holds where nothing is said: as in ingress-nginx. */
export const DEFAULT_SETTINGS: ProxySettings = { upstream: { connectTimeoutSeconds: 5 } };
