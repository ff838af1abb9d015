import type { HeaderChanges } from './headers.ts';
import type { Network } from './proxy-model.ts';

/** What holds for the proxy as a whole: for all hosts, or for all clusters. */
export interface ProxySettings {
  readonly blocked: BlockedClients;
  readonly http: HttpSettings;
  readonly headers: HeaderSettings;
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

/** Headers of every request and answer, whatever the host. */
export interface HeaderSettings {
  /** `Strict-Transport-Security` of every answer over TLS, in place of what a backend says; absent: what a backend says. */
  readonly strictTransportSecurity?: string;
  /** Whose `Server` header clients see; that of the proxy where a backend has none. */
  readonly server: 'none' | 'proxy' | 'backend';
  /** What is done to answers, in place of what a backend says. */
  readonly response: HeaderChanges;
  /** What is done to requests, in place of what a client says. */
  readonly request: HeaderChanges;
}

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
  headers: {
    strictTransportSecurity: 'max-age=31536000; includeSubDomains',
    server: 'none',
    response: { set: [], remove: [] },
    request: { set: [], remove: [] },
  },
  upstream: { connectTimeoutSeconds: 5 },
};
