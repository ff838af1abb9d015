/** What a template of nginx.conf sees. Text is of the class that its context in the configuration asks for (`quote.ts`). */
import type { ClientSettings, KeptConnections, StreamSettings } from '../model/connection-settings.ts';
import type { NginxTuning } from '../model/nginx-tuning.ts';
import type { Expanded, Literal, NginxParameter, Pattern } from './quote.ts';

/** The whole configuration, called `it` in a template. */
export interface NginxConfig {
  /** What holds for every server. */
  readonly settings: NginxSettings;
  /** Servers by host name; the default server comes first. */
  readonly servers: readonly NginxServer[];
  /** Groups of backend addresses, sorted by name. Empty where they are chosen at run time. */
  readonly upstreams: readonly NginxUpstream[];
  /** Ports of TCP and UDP services, sorted by protocol and port. */
  readonly streams: readonly NginxStream[];
  /** Set where TLS of names may be passed through to backends. */
  readonly passthrough?: NginxPassthrough;
}

/** What holds for every server. */
export interface NginxSettings {
  /** Port for HTTP. */
  readonly httpPort: number;
  /** Port for HTTPS. */
  readonly httpsPort: number;
  /** Socket on which servers end TLS instead, by connections with a PROXY protocol header; absent: they have the port. */
  readonly httpsSocket?: string;
  /** Whether a request without `X-Request-ID` gets one. */
  readonly generateRequestId: boolean;
  /** `underscores_in_headers` */
  readonly underscoresInHeaders: boolean;
  /** `ignore_invalid_headers` */
  readonly ignoreInvalidHeaders: boolean;
  /** What backends get of a request beside its own headers; an empty value takes a header away. */
  readonly requestHeaders: readonly NginxHeader[];
  /** Headers of every answer, in place of what a backend says; an empty value is not sent. */
  readonly responseHeaders: readonly NginxHeader[];
  /** Headers of backends that clients do not see, beside those in `responseHeaders`. */
  readonly hiddenHeaders: readonly string[];
  /** Requests that are answered 403 on every server; a part without entries is empty. */
  readonly blocked: {
    /** Addresses of clients. */
    readonly networks: readonly string[];
    /** Values of `User-Agent`, as a `map` has them. */
    readonly userAgents: readonly (Literal | Pattern)[];
    /** Values of `Referer`, as a `map` has them. */
    readonly referers: readonly (Literal | Pattern)[];
  };
  /** How answers are compressed for clients that take it. */
  readonly compression: {
    readonly gzip?: NginxCompression & {
      /** `gzip_disable` */
      readonly exceptAgents?: Pattern;
    };
    readonly brotli?: NginxCompression;
  };
  /** The text of `Strict-Transport-Security` over TLS, which `responseHeaders` send; empty for none. */
  readonly strictTransportSecurity: string;
  /** Whose `Server` header clients see. */
  readonly serverHeader: 'none' | 'proxy' | 'backend';
  /** Connections of clients. */
  readonly clients: ClientSettings;
  /** Connections to backends that are kept. */
  readonly kept: KeptConnections;
  /** Connections of TCP services, and datagrams of UDP services. */
  readonly streamTimes: StreamSettings;
  /** What nginx alone has. */
  readonly tuning: NginxTuning;
  /** `proxy_http_version` */
  readonly httpVersion: '1.0' | '1.1';
  /** `proxy_connect_timeout`, in seconds. */
  readonly connectTimeout: number;
  /** How addresses are chosen where a location says nothing else. */
  readonly loadBalancing: 'round_robin' | 'ewma';
  /** Addresses on which ports are open, with the colon that a port follows (`[::]:`); empty for all of IPv4. */
  readonly addresses: readonly string[];
  /** Whether connections for HTTP begin with a PROXY protocol header. */
  readonly proxyProtocol: boolean;
  /** Whether names are resolved to addresses of IPv6 too. */
  readonly ipv6Dns: boolean;
  /** Peers whose word on the address of a client counts; empty where nobody is asked. */
  readonly trustedPeers: readonly string[];
  /** `real_ip_header`: where the address of a client stands. */
  readonly realIpHeader: string;
  /** How clients speak TLS. */
  readonly tls: NginxTls;
  /** Whether `X-Forwarded-Proto`, `-Host` and `-Port` of requests count. */
  readonly trustsHeaders: boolean;
  /** Whether `X-Forwarded-For` to backends holds what the request said and then the peer. */
  readonly appendsPeer: boolean;
  /** What is written for each request; absent: nothing. */
  readonly accessLog?: {
    readonly file: string;
    /** The line. */
    readonly format: readonly Expanded[];
    /** `escape` of `log_format`. */
    readonly escape: string;
    /** Paths, with their queries, that are not logged, as a `map` has them. */
    readonly skip: readonly (Literal | Pattern)[];
    /** Whether lines name the Ingress and the Service. */
    readonly namesIngress: boolean;
  };
  /** What is written for each connection of a TCP or UDP service; absent: nothing. */
  readonly streamLog?: {
    readonly file: string;
    /** The line. */
    readonly format: readonly Expanded[];
    /** Whether lines name the Service. */
    readonly namesService: boolean;
  };
  /** How much nginx says of itself. */
  readonly errorLogLevel: string;
  /** How many files a worker may have open; 0 for the system's own limit. */
  readonly maxOpenFiles: number;
  /** Number of worker processes, or `auto` for one per processor. */
  readonly workerProcesses: number | 'auto';
  /** Whether HTTP/2 is switched on for a server, by `http2 on`; else, before nginx 1.25.1, for a port of its. */
  readonly http2Directive: boolean;
  /** Whether streams can take the address of a client from a PROXY protocol header. */
  readonly streamRealIp: boolean;
  /** Files of the dynamic modules to load. */
  readonly modules: readonly string[];
  /** Whether backends and certificates are chosen at run time, by the Lua module. */
  readonly dynamic: boolean;
  /** Folder of the Lua files. */
  readonly luaFolder: string;
  /** Folder for the process number, sockets and temporary files, which only this user can read. */
  readonly folder: string;
  /** Addresses of the DNS servers that resolve the names of ExternalName Services and of targets for copies; of IPv6 in brackets. */
  readonly resolvers: readonly string[];
  /** `server_names_hash_bucket_size`, computed from the longest name. */
  readonly serverNamesHashBucketSize: number;
  /** `server_names_hash_max_size`, computed from the number of names. */
  readonly serverNamesHashMaxSize: number;
  /** `map_hash_bucket_size`, at least what the longest key asks for. */
  readonly mapHashBucketSize: number;
  /** `map_hash_max_size`, computed from the number of keys. */
  readonly mapHashMaxSize: number;
  /** File with the certificate and the key that answer every server name without a certificate of its own. */
  readonly defaultCertificate: string;
}

/** One format. */
export interface NginxCompression {
  /** `gzip_comp_level`, `brotli_comp_level` */
  readonly level: number;
  /** `gzip_min_length`, `brotli_min_length` */
  readonly minBytes: number;
  /** Types of content beside `text/html`; `*` for all. */
  readonly types: readonly Literal[];
}

/** How clients speak TLS. */
export interface NginxTls {
  /** `ssl_protocols` */
  readonly protocols: readonly string[];
  /** `ssl_ciphers` */
  readonly ciphers: string;
  /** `ssl_ecdh_curve` */
  readonly curves: string;
  /** Whether HTTP/2 is offered. */
  readonly http2: boolean;
  /** Bytes of `ssl_session_cache`; 0 for none. */
  readonly sessionCacheBytes: number;
  /** `ssl_session_timeout`, in seconds. */
  readonly sessionTimeout: number;
  /** `ssl_session_tickets` */
  readonly sessionTickets: boolean;
  /** Bytes of `ssl_buffer_size`. */
  readonly bufferSize: number;
  /** `ssl_early_data` */
  readonly earlyData: boolean;
  /** `ssl_reject_handshake`, of the default server. */
  readonly rejectHandshake: boolean;
}

/** One host. */
export interface NginxServer {
  /** Its name, or the first of them; `*` for the default server. */
  readonly host: string;
  /** Whether requests come here whose host nobody claims. */
  readonly isDefault: boolean;
  /** The parameters of `server_name`: names, or a regular expression for a wildcard of one label. */
  readonly serverNames: readonly (Literal | Pattern)[];
  /** File with the certificate and the key; absent where the default certificate, or the Lua module, answers. */
  readonly certificate?: string;
  /** `ssl_ciphers`; absent: as in the settings. */
  readonly ciphers?: string;
  /** Set where among ciphers the order of the client counts. */
  readonly prefersClientCiphers?: boolean;
  /** Whether TLS of the host is passed through, so that no request for it may come over TLS that is ended here. */
  readonly passedThrough?: boolean;
  /** File with the OCSP response of that certificate, or of the default one where it answers; never with the Lua module. */
  readonly staple?: string;
  /** At most one for each path and kind. */
  readonly locations: readonly NginxLocation[];
}

/** What happens to the requests of one path. */
export interface NginxLocation {
  /**
   * `exact`: the path must be equal. `prefix`: all that begin like it. `regex`: all that the expression matches; `caseless`: upper and
   * lower case alike.
   */
  readonly kind: 'exact' | 'prefix' | 'regex' | 'caseless';
  /** Compared with the decoded path of the request. */
  readonly path: Literal | Pattern;
  /** Whether some clients are answered 403, before nginx answers by itself. */
  readonly limitsAddresses?: boolean;
  /** Whether a header holds something of the decoded path, which must be of one line. */
  readonly refusesLineBreaks?: boolean;
  /** What the variable `$forwarded_prefix` holds, groups of the location's path included. */
  readonly forwardedPrefix?: Expanded;
  /** Set where a copy of each request is sent elsewhere. */
  readonly mirror?: NginxMirror;
  /** Set where answers tell browsers about pages of other origins. */
  readonly cors?: NginxCors;
  /** Headers as in the settings, whose headers of the same name they replace. */
  readonly requestHeaders?: readonly NginxHeader[];
  /** Headers as in the settings, whose headers of the same name they replace. */
  readonly responseHeaders?: readonly NginxHeader[];
  /** Headers as in the settings; those of `settings.responseHeaders` are not sent then. */
  readonly hiddenHeaders?: readonly string[];
  /** Where requests over plain HTTP are redirected to. */
  readonly httpsRedirect?: NginxRedirect;
  /** Set where a backend sees another path, or the client is sent to another URL. */
  readonly rewrite?: NginxRewrite;
  /** Further directives of the location, in their order. */
  readonly directives?: readonly NginxDirective[];
  /** Set where requests go to a backend. */
  readonly forward?: NginxForward;
  /** Set where nginx answers by itself. */
  readonly respond?: NginxRespond;
  /** Set where every request is redirected. */
  readonly redirect?: NginxRedirect;
}

/** An answer of nginx itself that leads elsewhere. */
export interface NginxRedirect {
  /** The HTTP status. */
  readonly status: number;
  /** `Location` of the answer. */
  readonly location: Expanded;
}

/** One header. */
export interface NginxHeader {
  /** Its name, of letters, digits, `-` and `_`. */
  readonly name: string;
  /** Its value. */
  readonly value: NginxParameter;
}

/** Copies of requests, whose answers nobody sees. */
export interface NginxMirror {
  /** Where a copy goes, with its path and query. */
  readonly url: Expanded;
  /** `Host` of a copy. */
  readonly host: Expanded;
  /** Whether a copy has the body of its request. */
  readonly body: boolean;
}

/** Answers for pages of other origins. Their headers are in `responseHeaders`. */
export interface NginxCors {
  /** An expression for the origins that are allowed; absent: all. */
  readonly origins?: Pattern;
  /** What the variables `$cors_NAME` hold. */
  readonly values: readonly NginxVariable[];
}

/** A variable that a location sets. */
export interface NginxVariable {
  /** Its name, without `$`. */
  readonly name: string;
  /** Its value. */
  readonly value: NginxParameter;
}

/** Another path for a backend, or a redirect. */
export interface NginxRewrite {
  /** Searched for in the path, in any case. */
  readonly pattern: Pattern;
  /** What takes the place of the whole path; `$1` stands for its first group. */
  readonly replacement: Expanded;
  /** Whether the client is redirected to it. */
  readonly redirects: boolean;
}

/** One directive. */
export interface NginxDirective {
  /** Its name, which comes from no user. */
  readonly name: string;
  /** Its parameters, each of which is written as one quoted token. */
  readonly parameters: readonly NginxParameter[];
}

/** Requests that go to a backend. */
export interface NginxForward {
  /** Name of the upstream. */
  readonly upstream: string;
  /** The upstream for requests that come without TLS; with the protocol `auto` alone, where addresses are not chosen at run time. */
  readonly plainUpstream?: string;
  /** What backends speak. `auto`: `https` where the client has TLS, else `http`. */
  readonly protocol: 'http' | 'https' | 'auto' | 'grpc' | 'grpcs';
  /** It has settings of its own for TLS, so that no connection of another location may be used. */
  readonly ownTls: boolean;
  /** How an address is chosen, where not as in the settings and where that happens at run time. */
  readonly choice?: NginxChoice;
  /** `namespace-service-port`, for the log. */
  readonly logName: string;
  /** `host:port` that is resolved at run time, for an ExternalName Service. */
  readonly resolve?: string;
  /** Whether there is an address to send requests to; always true where addresses are chosen at run time. */
  readonly available: boolean;
  /** JSON for the Lua module: who goes to a canary, and how clients are kept at an address. */
  readonly rules?: string;
  /** What is answered while there is no address. */
  readonly statusWithoutEndpoints: 404 | 503;
}

/** How one of several addresses is chosen. */
export interface NginxChoice {
  /** `hash`: by `key`. `ewma`: the one of two at random that has less to do. `round_robin`: one after another. */
  readonly kind: 'hash' | 'ewma' | 'round_robin';
  /** Requests with an equal key go to the same address. */
  readonly key?: NginxParameter;
  /** At run time: to any of so many addresses instead. */
  readonly subset?: number;
}

/** An answer of nginx itself. */
export interface NginxRespond {
  /** The HTTP status. */
  readonly status: number;
  /** The text; absent: the page of nginx for this status. */
  readonly body?: string;
  /** `Content-Type` of the body. */
  readonly contentType: string;
}

/** Backend addresses under one name. */
export interface NginxUpstream {
  /** To which `NginxForward.upstream` refers. */
  readonly name: string;
  /** `address:port`, an IPv6 address in brackets; at least one. */
  readonly addresses: readonly string[];
  /** How one of them is chosen. */
  readonly choice: NginxChoice;
}

/** A port whose connections, or datagrams, go to one backend as they are. */
export interface NginxStream {
  /** The port on which nginx listens. */
  readonly port: number;
  /** What comes there. */
  readonly protocol: 'tcp' | 'udp';
  /** What lines of the log call it. */
  readonly logName: string;
  /** Whether a connection begins with a PROXY protocol header that names its client. */
  readonly acceptProxyProtocol: boolean;
  /** Whether backends get such a header. */
  readonly sendProxyProtocol: boolean;
  /** `address:port`, an IPv6 address in brackets; none where `resolve` is set. */
  readonly addresses: readonly string[];
  /** `host:port` that is resolved at run time, for an ExternalName Service. */
  readonly resolve?: string;
}

/** TLS that is passed through: one server has the port for HTTPS, and leads each connection on by the name in its handshake. */
export interface NginxPassthrough {
  /** Socket for connections whose TLS is ended here; servers listen on it. */
  readonly endedSocket: string;
  /** Socket for all other connections, from where they go on to a backend without the PROXY protocol header that they have there. */
  readonly passedSocket: string;
  /** Names that are passed through, and those under a wildcard that are not. */
  readonly names: readonly NginxPassedName[];
  /** The backends of all names. */
  readonly backends: readonly NginxPassthroughBackend[];
  /** `map_hash_max_size`, computed from the number of names. */
  readonly hashMaxSize: number;
}

/** A name in handshakes. */
export interface NginxPassedName {
  /** The name, as a `map` has it. */
  readonly key: Literal | Pattern;
  /** Where it leads; absent where TLS is ended here. */
  readonly backend?: NginxPassthroughBackend;
}

/** A Service that ends TLS itself. */
export interface NginxPassthroughBackend {
  /** Name of the upstream. */
  readonly name: string;
  /** `tcp-namespace-service-port`, for the log. */
  readonly logName: string;
  /** `address:port`, an IPv6 address in brackets; connections are closed where there is none. */
  readonly addresses: readonly string[];
  /** `host:port` that is resolved at run time instead, for an ExternalName Service. */
  readonly resolve?: string;
}
