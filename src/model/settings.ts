import type { CompressionSettings } from './compression.ts';
import {
  type ClientSettings,
  DEFAULT_CLIENTS,
  DEFAULT_KEPT,
  DEFAULT_STREAMS,
  type KeptConnections,
  type StreamSettings,
} from './connection-settings.ts';
import type { HeaderChanges } from './headers.ts';
import type { LoadBalancing } from './load-balancing.ts';
import { DEFAULT_LOG_FORMAT, type LogEscape, type LogFormat } from './log-format.ts';
import { DEFAULT_TUNING, type NginxTuning } from './nginx-tuning.ts';
import type { HttpVersion, Network } from './proxy-model.ts';
import { DEFAULT_STREAM_LOG_FORMAT, type StreamLogFormat } from './stream-log-format.ts';
import { DEFAULT_TLS, type TlsSettings } from './tls-settings.ts';
import type { TracingSettings } from './tracing.ts';

/** What holds for the proxy as a whole: for all hosts, or for all clusters. */
export interface ProxySettings {
  readonly blocked: BlockedClients;
  readonly listener: ListenerSettings;
  readonly forwarded: ForwardedSettings;
  readonly http: HttpSettings;
  readonly headers: HeaderSettings;
  readonly compression: CompressionSettings;
  readonly logs: LogSettings;
  readonly clients: ClientSettings;
  readonly tls: TlsSettings;
  readonly upstream: UpstreamSettings;
  readonly streams: StreamSettings;
  readonly nginx: NginxTuning;
  /** Absent: nothing is traced, whatever routes say. */
  readonly tracing?: TracingSettings;
}

/** How connections arrive. */
export interface ListenerSettings {
  /** Addresses on which every port is bound, IPv4 and IPv6; absent: all. */
  readonly addresses?: readonly string[];
  /** Whether IPv6 is bound where the machine has it. */
  readonly ipv6: boolean;
  /** A connection for HTTP begins with a PROXY protocol header that names its client, or it is closed. Absent: it must not. */
  readonly proxyProtocol?: { readonly timeoutSeconds: number };
  /** HTTP/3 is served on the port for HTTPS, and answers over TLS say so with this port. Absent: it is not. */
  readonly http3?: Http3Settings;
}

export interface Http3Settings {
  /** The UDP port that clients reach, which need not be the one that is bound. */
  readonly advertisedPort: number;
}

/** `Alt-Svc` of answers over TLS: clients may come back over HTTP/3, and remember so for a day. */
export function alternativeService({ advertisedPort }: Http3Settings): string {
  return `h3=":${advertisedPort}"; ma=86400`;
}

/** What is believed of what requests say about their way here. */
export interface ForwardedSettings {
  /** Peers whose word on the address of the client counts, as networks (`10.0.0.0/8`). */
  readonly trustedPeers: readonly string[];
  /** Whether the address of a client is taken from `forwardedForHeader`; else it is whoever opened the connection. */
  readonly namesClient: boolean;
  /** Where the address of the client stands, and what backends see as `X-Original-Forwarded-For`; lower case. */
  readonly forwardedForHeader: string;
  /** What backends see as `X-Original-Forwarded-Host`; lower case. */
  readonly forwardedHostHeader: string;
  /** Whether `X-Forwarded-Proto`, `-Host` and `-Port` count, whoever sends them. */
  readonly trustsHeaders: boolean;
  /** Whether `X-Forwarded-For` to backends holds what the request said and then the peer; else the client alone. */
  readonly appendsPeer: boolean;
}

/** Whether requests can say by themselves that they came over https, so that the port they arrived at does not decide. */
export function claimsScheme({ forwarded, listener }: ProxySettings): boolean {
  return forwarded.trustsHeaders || listener.proxyProtocol !== undefined;
}

/** Requests of clients. */
export interface HttpSettings {
  /** Whether a request without `X-Request-ID` gets one. */
  readonly generateRequestId: boolean;
  /** Whether headers with an underscore in their name are passed on; else they are dropped. */
  readonly underscoresInHeaders: boolean;
  /** Whether headers with a name that HTTP does not allow are dropped; only nginx can pass them on. */
  readonly ignoresInvalidHeaders: boolean;
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

/** What is written, where the process is asked to write anything. */
export interface LogSettings {
  /** Absent: nothing. */
  readonly requests?: RequestLog;
  /** A line for each connection of a TCP or UDP service. Absent: nothing. */
  readonly streams?: StreamLogFormat;
  /** How much the proxy says of itself, in words of nginx. */
  readonly errors: string;
}

/** A line for each request. */
export interface RequestLog {
  readonly format: LogFormat;
  readonly escape: LogEscape;
  /** Paths, with their queries, about which nothing is written. */
  readonly skip: readonly TextPattern[];
}

/** Connections to backends, where a cluster says nothing else. */
export interface UpstreamSettings {
  readonly connectTimeoutSeconds: number;
  /** Whether names of ExternalName Services are resolved to addresses of IPv6 too. */
  readonly resolvesIpv6: boolean;
  readonly loadBalancing: LoadBalancing;
  readonly kept: KeptConnections;
  readonly httpVersion: HttpVersion;
  /** How large the headers of an answer may be, at least, in KiB. */
  readonly answerHeadersKb: number;
}

/** The only key of `ProxyModel.settings`. */
export const SETTINGS = 'settings';

/** What holds where nothing is said: as in ingress-nginx. */
export const DEFAULT_SETTINGS: ProxySettings = {
  blocked: { networks: [], userAgents: [], referers: [] },
  listener: { ipv6: true },
  forwarded: {
    trustedPeers: ['0.0.0.0/0', '::/0'],
    namesClient: false,
    forwardedForHeader: 'x-forwarded-for',
    forwardedHostHeader: 'x-forwarded-host',
    trustsHeaders: false,
    appendsPeer: false,
  },
  http: { generateRequestId: true, underscoresInHeaders: false, ignoresInvalidHeaders: true },
  headers: {
    strictTransportSecurity: 'max-age=31536000; includeSubDomains',
    server: 'none',
    response: { set: [], remove: [] },
    request: { set: [], remove: [] },
  },
  compression: {},
  logs: {
    requests: { format: DEFAULT_LOG_FORMAT, escape: 'default', skip: [] },
    streams: DEFAULT_STREAM_LOG_FORMAT,
    errors: 'notice',
  },
  clients: DEFAULT_CLIENTS,
  upstream: {
    connectTimeoutSeconds: 5,
    loadBalancing: 'round_robin',
    resolvesIpv6: true,
    kept: DEFAULT_KEPT,
    httpVersion: '1.1',
    answerHeadersKb: 4,
  },
  streams: DEFAULT_STREAMS,
  nginx: DEFAULT_TUNING,
  tls: DEFAULT_TLS,
};
