import type { Network } from './proxy-model.ts';

/** What holds for the proxy as a whole: for all hosts, or for all clusters. */
export interface ProxySettings {
  readonly blocked: BlockedClients;
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

/** Requests that are answered 403 whatever they ask for, before any redirect. */
export interface BlockedClients {
  readonly networks: readonly Network[];
  /** Of the header `User-Agent`. */
  readonly userAgents: readonly TextPattern[];
  /** Of the header `Referer`. */
  readonly referers: readonly TextPattern[];
}

/** `text`: the whole value, in any case. `regex`: what a part of the value matches; RE2 and PCRE take the expression alike. */
export type TextPattern =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'regex'; readonly pattern: string; readonly ignoreCase: boolean };

/** Connections to backends, where a cluster says nothing else. */
export interface UpstreamSettings {
  readonly connectTimeoutSeconds: number;
}

/** The only key of `ProxyModel.settings`. */
export const SETTINGS = 'settings';

/** What holds where nothing is said: as in ingress-nginx. */
export const DEFAULT_SETTINGS: ProxySettings = {
  blocked: { networks: [], userAgents: [], referers: [] },
  http: { generateRequestId: true, underscoresInHeaders: false },
  upstream: { connectTimeoutSeconds: 5 },
};
