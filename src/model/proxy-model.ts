/**
 * The neutral model between what users write and what a proxy runs. Plain immutable values; every part carries its `origin`.
 * Tables are keyed as said at `ProxyModel`.
 */
import type { Table } from '../derive.ts';
import type { AnswerBuffering, Pace, RequestBuffering } from './buffering.ts';
import type { Canary } from './canary.ts';
import type { CorsPolicy } from './cors.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { AnswerRewrites, HeaderChanges } from './headers.ts';
import type { HashBy, LoadBalancing } from './load-balancing.ts';
import type { Mirror, MirrorTarget } from './mirror.ts';
import type { ObjectKey } from './object-ref.ts';
import type { Retries } from './retries.ts';
import type { SessionAffinity } from './session-affinity.ts';
import type { ProxySettings } from './settings.ts';
import type { Template, TemplatePart } from './template.ts';
import type { TlsPolicy } from './tls-settings.ts';
import type { RouteTracing } from './tracing.ts';

/** The Ingress (`namespace/name`) and the field that made a part of the model. */
export interface Origin {
  readonly ingress: ObjectKey;
  /** `spec.rules[0].http.paths[0]` */
  readonly field: string;
}

/**
 * `*` is the default server: requests whose host nobody claims. Else a lower-case DNS name, without port or trailing dot, or one
 * with a wildcard in front (`*.example.com`) that stands for exactly one label. An exact name counts before a wildcard. Hosts of
 * more labels are not the wildcard's: the default server answers them if nobody else does.
 */
export type HostName = string;
export const DEFAULT_HOST: HostName = '*';

/** A bound port of the proxy that speaks HTTP. */
export interface Listener {
  readonly name: 'http' | 'https';
  readonly port: number;
  /** Only for `https`: which certificate answers which server name (SNI). */
  readonly serverNames: readonly ServerName[];
  /**
   * Only for `https`: whether all other server names are looked up in `ProxyModel.onDemandNames`, and refused if they are not there.
   * Else the default certificate answers them. A client that sends no server name gets the default certificate in any case.
   */
  readonly onDemand?: boolean;
  /** Only for `https`: whether names may be passed through at any time, so that a proxy can be prepared for the first of them. */
  readonly passesThrough?: boolean;
}

/** A server name, exact or with a one-label wildcard in front (`*.example.com`), and who answers it. */
export type ServerName = { readonly name: string } & ServerNameTarget;

export type ServerNameTarget =
  /** The proxy, with this certificate: that of `onDemandNames` where it is `ON_DEMAND`. `tls`: absent where TLS is as in the settings. */
  | { readonly certificate: CertificateName; readonly tls?: TlsPolicy }
  /** The endpoints of this cluster, to which connections go as they are. */
  | { readonly passthrough: ClusterName };

/** `tcp-9000`, `udp-53` */
export type StreamListenerName = string;

/** A bound port of the proxy whose connections, or datagrams, go to one cluster as they are. */
export interface StreamListener {
  readonly name: StreamListenerName;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  readonly cluster: ClusterName;
  /** Only for `tcp`: a connection begins with a PROXY protocol header that names its client, or it is closed. */
  readonly proxyProtocol?: true;
}

/** One host with its routes in match order (the first that matches wins). A host always answers every path. */
export interface VirtualHost {
  readonly host: HostName;
  /** Further names of the host, sorted; neither they nor `host` have a wildcard then. Absent where there are none. */
  readonly aliases?: readonly HostName[];
  readonly routes: readonly Route[];
  /** Set where backends speak TLS with clients themselves: the routes are for requests without TLS alone. */
  readonly passthrough?: Passthrough;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Where connections go whose handshake asks for the host. A request for the host that comes over TLS all the same, on a connection
 * that was opened for another, is answered 421: browsers then open one that leads to the backend.
 */
export interface Passthrough {
  readonly cluster: ClusterReference;
  readonly origin: Origin;
}

export interface Route {
  readonly match: PathMatch;
  readonly action: RouteAction;
  readonly policy: RoutePolicy;
  /** Absent for what no Ingress made (the 404 at the end of every host). */
  readonly origin?: Origin;
}

export type PathMatch =
  /** The path itself, `/foo` not `/foo/`. */
  | { readonly kind: 'exact'; readonly path: string }
  /** Whole path elements: `/foo` matches `/foo` and `/foo/x`, not `/foobar`. Never ends in `/` but for the root, `/`. */
  | { readonly kind: 'prefix'; readonly path: string }
  /**
   * A regular expression of nginx (PCRE), as the user wrote it: paths that begin with a match, upper and lower case alike. Of
   * alternatives that no group holds together only the first is bound to the beginning.
   */
  | { readonly kind: 'regex'; readonly path: string };

export type RouteAction =
  | {
      readonly kind: 'forward';
      readonly cluster: ClusterReference;
      /** Where requests of clients without TLS go, if elsewhere. */
      readonly plainCluster?: ClusterReference;
      /** What is answered while the cluster has no endpoint; 503 if absent. */
      readonly withoutEndpoints?: 404;
      /** Clusters that take a part of the requests, oldest first; none of them is there without its reason to be. */
      readonly canaries?: readonly Canary[];
    }
  | { readonly kind: 'respond'; readonly status: number; readonly body: string }
  /** The same for http and https. */
  | { readonly kind: 'redirect'; readonly status: RedirectStatus; readonly location: Template };

/** With which a client is sent elsewhere; with the other statuses below 400 it stays where it is. */
export type RedirectStatus = 301 | 302 | 303 | 307 | 308;

/** What a backend gets in place of the path of a request, or where the client is sent; the query stays. */
export interface PathRewrite {
  /** A regular expression as in `PathMatch`; what it matches anywhere in the path gives the parts of the target. */
  readonly pattern: string;
  readonly target: CapturingTemplate;
  /** The target is a URL: the client is redirected to it. */
  readonly redirects?: true;
  /** `X-Forwarded-Prefix` for the backend. */
  readonly forwardedPrefix?: CapturingTemplate;
}

/** A template that may hold what groups of a regular expression match. */
export type CapturingTemplate = readonly (TemplatePart | Capture)[];

/** What a group matches, from 1 to 9; nothing where there is no such group. */
export interface Capture {
  readonly capture: number;
}

/** What a route wants of the proxy beyond its action: one optional field per feature. */
export interface RoutePolicy {
  /** Larger request bodies are answered 413, also where the proxy answers by itself; 0 for no limit, 1 MiB if absent. */
  readonly bodySize?: { readonly maxBytes: number };
  /** Requests over plain HTTP are redirected to the same over https. */
  readonly httpsRedirect?: HttpsRedirect;
  /** The backend is another than the one that the requests are for, and is told so. */
  readonly standsInFor?: StandsInFor;
  /** How bodies of requests are held; `DEFAULT_REQUEST_BUFFERING` if absent. */
  readonly requestBuffering?: RequestBuffering;
  /** How answers are held; `DEFAULT_ANSWER_BUFFERING` if absent. */
  readonly answerBuffering?: AnswerBuffering;
  /** How fast answers are sent; as fast as possible if absent. */
  readonly pace?: Pace;
  /** When a request is sent to another endpoint; `DEFAULT_RETRIES` if absent. */
  readonly retries?: Retries;
  /**
   * How long a backend may be silent, and how long it may take nothing of a request; 60 s each if absent. `bodySeconds`: how long
   * a client may pause in a body, where that is longer.
   */
  readonly timeouts?: { readonly readSeconds: number; readonly sendSeconds: number; readonly bodySeconds?: number };
  readonly rewrite?: PathRewrite;
  /** The `Host` that a backend gets in place of the client's. */
  readonly upstreamHost?: Template;
  /** `off`: requests are not logged. `ingress`: the name that lines give. `rewrites`: nginx says what it rewrites. */
  readonly log?: { readonly off?: true; readonly ingress?: string; readonly rewrites?: true };
  /** Clients of other addresses than those of `allow`, where that is not empty, and those of `deny`, are answered 403. */
  readonly addresses?: { readonly allow: readonly Network[]; readonly deny: readonly Network[] };
  /** What answers tell browsers about pages of other origins; `OPTIONS` is answered 204 before anything else is looked at. */
  readonly cors?: CorsPolicy;
  /** What is done to the headers of every answer, in place of what a backend says. */
  readonly responseHeaders?: HeaderChanges;
  /** What is made of addresses in the answers of backends. */
  readonly answerRewrites?: AnswerRewrites;
  /** The `Connection` header that backends of HTTP/1 get. */
  readonly connectionHeader?: 'close' | 'keep-alive';
  /** Requests of one client go to one endpoint. */
  readonly affinity?: SessionAffinity;
  /** The key of a request, for clusters that choose endpoints by it. */
  readonly hashBy?: HashBy;
  /** Each request that is sent to a backend is sent there too. */
  readonly mirror?: Mirror;
  /** Requests are traced; they are not if absent. */
  readonly tracing?: RouteTracing;
}

/** A range of addresses, `10.0.0.0/8` or `2001:db8::/32`: the first address in canonical form, and the number of bits that count. */
export type Network = string;
/** Whose requests a backend gets: those of a Service, by the port that its Ingress says, which has no endpoint. */
export interface StandsInFor {
  readonly namespace: string;
  /** Its name. */
  readonly ingress: string;
  readonly service: string;
  readonly port: string;
}

/** Without `port` to the host alone, without `keepSlash` to the path and query without a slash at their very end. */
export interface HttpsRedirect {
  readonly status: RedirectStatus;
  readonly port?: number;
  readonly keepSlash?: true;
}

/** Everything that identifies a cluster, so that clusters can be built from what routes refer to. */
export interface ClusterReference {
  readonly name: ClusterName;
  readonly namespace: string;
  readonly service: string;
  /** The Service's port number; as written when the Service or its port is missing. */
  readonly port: string;
  /** Of the Service port; TCP if absent. */
  readonly protocol?: 'UDP';
  /** Absent for the variant without settings of its own. */
  readonly policy?: ClusterPolicy;
  /** Set for a canary: the Service port in whose place it stands, and which answers while it has no endpoint. */
  readonly primary?: ServicePort;
}

/** A port of a Service, by its number where the Service has it. */
export interface ServicePort {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
}

/** Of what is no HTTP/2. */
export type HttpVersion = '1.0' | '1.1';

/** How a cluster differs from others of its Service port: one optional field per feature. */
export interface ClusterPolicy {
  /** A connection begins with a PROXY protocol header (version 1) that names the client. */
  readonly proxyProtocol?: true;
  /** How large the headers of an answer may be, in KiB; that of the settings, or what the proxy takes anyway, if absent. */
  readonly answerHeadersKb?: number;
  /** In which requests are sent; that of the settings if absent. */
  readonly httpVersion?: HttpVersion;
  /** How long an endpoint may take to accept a connection; that of the settings if absent. */
  readonly connectTimeoutSeconds?: number;
  /** What endpoints speak; HTTP/1.1 without TLS if absent. */
  readonly backendProtocol?: BackendProtocol;
  /** For protocols over TLS; without it backends are believed whatever certificate they show. */
  readonly backendTls?: BackendTls;
  /** Endpoints are chosen by the hash of a cookie (`RoutePolicy.affinity`). */
  readonly cookieHash?: true;
  /** Requests go to the address of the Service itself instead of its endpoints, or not; as the settings say if absent. */
  readonly serviceUpstream?: boolean;
  /** That of the settings if absent. */
  readonly loadBalancing?: LoadBalancing;
  readonly hashBy?: HashBy;
}

/**
 * `HTTPS`: HTTP/1.1 over TLS. `GRPC` and `GRPCS`: HTTP/2, without TLS and with it. `AUTO_HTTP`: HTTP/1.1, over TLS where the client has it,
 * which no cluster has: a route then names one for each.
 */
export type BackendProtocol = 'HTTPS' | 'AUTO_HTTP' | 'GRPC' | 'GRPCS';

/** What is shown to backends over TLS, and asked of them. */
export interface BackendTls {
  /** Key of the Secret in `ProxyModel.backendSecrets`. */
  readonly secret: ObjectKey;
  /** Backends are shown the certificate of the Secret. */
  readonly showsCertificate: boolean;
  /** Backends must show a certificate of the Secret's authorities for this name; `depth`: how many may stand between the two. */
  readonly verify?: { readonly name: string; readonly depth: number };
  /** The server name (SNI) of handshakes; none is sent if absent. */
  readonly serverName?: string;
  /** Sorted. */
  readonly versions: readonly TlsVersion[];
  /** For TLS 1.2, in the names of OpenSSL; absent: the proxy's own. */
  readonly ciphers?: readonly string[];
}

export const tlsVersions = ['TLSv1.2', 'TLSv1.3'] as const;
export type TlsVersion = (typeof tlsVersions)[number];

/**
 * `namespace/service/port`, `namespace/service/port/udp` for another protocol, and `~hash` with a policy. A canary has its own name
 * behind that of its primary: `shop/web/80@shop/web-canary/80`. Where copies of requests go has a URL: `https://copies.example.com:443`.
 */
export type ClusterName = string;
/**
 * `namespace/service/port`, `namespace/service/port/udp` for another protocol; shared by all variants of a cluster. `/cluster-ip` stands
 * behind it for the address of the Service itself. Of a canary with the name of its primary in front.
 */
export type EndpointsName = string;

/** One upstream: a Service port, or where copies of requests go. */
export type Cluster = { readonly name: ClusterName; readonly policy?: ClusterPolicy } & (
  | { readonly kind: 'endpoints'; readonly endpoints: EndpointsName }
  /** An ExternalName Service: the proxy resolves the name, all addresses count. */
  | { readonly kind: 'dns'; readonly hostname: string; readonly port: number }
  /** Copies of requests go there; the name is that of `mirrorClusterName`. */
  | { readonly kind: 'mirror'; readonly target: MirrorTarget }
);

/** Addresses of a Service port, sorted and without duplicates; empty when nothing is ready. */
export interface Endpoints {
  readonly name: EndpointsName;
  readonly addresses: readonly Address[];
  readonly diagnostics: readonly Diagnostic[];
}

/** `ip` is an IPv4 or IPv6 literal in canonical form. */
export interface Address {
  readonly ip: string;
  readonly port: number;
}

/** `namespace/name` of the Secret, or `DEFAULT_CERTIFICATE`. */
export type CertificateName = string;
/** Answers every server name without a certificate of its own. */
export const DEFAULT_CERTIFICATE: CertificateName = 'default-certificate';

/** Stands for the certificate that is looked up by the server name. */
export const ON_DEMAND: CertificateName = 'on-demand';

export interface Certificate {
  readonly name: CertificateName;
  /** PEM, leaf first. Mostly a view of the bytes in the Secret, which are kept once. */
  readonly chain: Uint8Array;
  readonly key: PrivateKey;
  /** DER: what the OCSP responder says of it, for clients that ask; only what has been checked and still holds. */
  readonly ocspResponse?: Uint8Array;
  /** The key is neither RSA nor ECDSA on P-256 or P-384, which is all that HTTP/3 can be served with. */
  readonly unusualKey?: true;
  /** DNS names of the certificate, lower case: exact, or with a one-label wildcard in front. */
  readonly dnsNames: readonly string[];
  /** Milliseconds since 1970. */
  readonly notAfter: number;
}

/** What a Secret holds for TLS to backends; at least one of the two. */
export interface BackendSecret {
  readonly name: ObjectKey;
  readonly pair?: Pick<Certificate, 'chain' | 'key'>;
  /** PEM: the certificates of authorities (`ca.crt`). */
  readonly authorities?: Uint8Array;
}

/** PEM of a private key that shows itself as `[redacted]` in JSON, logs and inspection. */
export class PrivateKey {
  readonly #pem: Uint8Array;

  /** @param pem is kept as it is where it is bytes, such as those of a Secret, and must not change. */
  constructor(pem: Uint8Array | string) {
    this.#pem = typeof pem === 'string' ? Buffer.from(pem) : pem;
  }

  /** The only way to the bytes; for the emitters. */
  reveal(): Uint8Array {
    return this.#pem;
  }

  equals(other: PrivateKey): boolean {
    return Buffer.compare(this.#pem, other.#pem) === 0;
  }

  toJSON(): string {
    return '[redacted]';
  }

  toString(): string {
    return '[redacted]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return 'PrivateKey [redacted]';
  }
}

/** The tables that the build fills and the emitters read. */
export interface ProxyModel {
  /** one entry, `SETTINGS`: what holds for the proxy as a whole */
  readonly settings: Table<ProxySettings>;
  /** keyed by listener name */
  readonly listeners: Table<Listener>;
  /** keyed by listener name: the ports of TCP and UDP services that have somewhere to lead to */
  readonly streamListeners: Table<StreamListener>;
  /** keyed by host name; `*` is always there */
  readonly virtualHosts: Table<VirtualHost>;
  /** keyed by cluster name: exactly the clusters that virtual hosts and stream listeners refer to */
  readonly clusters: Table<Cluster>;
  /** keyed by endpoints name: exactly those that clusters refer to */
  readonly endpoints: Table<Endpoints>;
  /** keyed by exact server name: which certificate is found by it; empty unless a listener is `onDemand` */
  readonly onDemandNames: Table<CertificateName>;
  /** keyed by certificate name: those that listeners and `onDemandNames` refer to; `DEFAULT_CERTIFICATE` is always there */
  readonly certificates: Table<Certificate>;
  /** keyed by `namespace/name`: those that clusters refer to */
  readonly backendSecrets: Table<BackendSecret>;
}
