/** What holds for the proxy as a whole: for all hosts, or for all clusters. */
export interface ProxySettings {
  readonly http: HttpSettings;
  readonly upstream: UpstreamSettings;
}

/** Requests of clients. */
export interface HttpSettings {
  /** Whether a request without `X-Request-ID` gets one. */
  readonly generateRequestId: boolean;
  /** Whether headers with an underscore in their name are passed on; else they are dropped. */
  readonly underscoresInHeaders: boolean;
}

/** Connections to backends, where a cluster says nothing else. */
export interface UpstreamSettings {
  readonly connectTimeoutSeconds: number;
}

/** The only key of `ProxyModel.settings`. */
export const SETTINGS = 'settings';

/** What holds where nothing is said: as in ingress-nginx. */
export const DEFAULT_SETTINGS: ProxySettings = {
  http: { generateRequestId: true, underscoresInHeaders: false },
  upstream: { connectTimeoutSeconds: 5 },
};
