/** Where the proxies do not do what ingress-nginx does; docs/differences.md is written from it. */

export interface Difference {
  readonly what: string;
  readonly ingressNginx: string;
  /** What Envoy does; absent: the same as ingress-nginx. */
  readonly envoy?: string;
  /** What nginx does with our configuration; absent: the same as ingress-nginx. */
  readonly nginx?: string;
  readonly why: string;
  /** Set where no case of a table shows it: another test does, or it takes minutes. */
  readonly shownElsewhere?: true;
}

/** All of them, in the order of the page: requests, what backends and clients see, connections, streams. */
const rows = {
  climbingPath: {
    what: 'path that climbs above the root (`/../x`)',
    ingressNginx: '400',
    envoy: 'served as `/x`',
    why: 'Envoy normalizes paths before anything can look at them; routes and backends see the normalized path alone',
  },
  normalizedPath: {
    what: 'path with `//`, `.`, `..` or a needless escape (`%66`), as a backend sees it',
    ingressNginx: 'as it was sent',
    envoy: 'normalized',
    why: 'see above',
  },
  normalizedRedirect: {
    what: 'redirect to https of a path with `//`, `.` or `..`',
    ingressNginx: 'to the path as it was sent',
    envoy: 'to the normalized path',
    why: 'see above',
  },
  backslash: {
    what: 'backslash in a path (`/a\\x`)',
    ingressNginx: 'a character like others',
    envoy: 'a slash',
    why: 'backends on some systems take it for one, and no closed path may be reached in this way',
  },
  encodedSlash: {
    what: 'path with an encoded slash or backslash that leads up, or to a closed path',
    ingressNginx: 'decoded for the comparison',
    envoy: '400 where it could reach what an annotation protects',
    why: 'Envoy compares paths as they are encoded',
  },
  exactSlash: {
    what: '`Exact /foo/`, request for `/foo`',
    ingressNginx: '301 to `/foo/`',
    envoy: 'another rule, or 404',
    why: 'an exact path matches nothing else',
  },
  prefixSlash: {
    what: '`Prefix /foo/`, request for `/foo`',
    ingressNginx: '301 to `/foo/`',
    envoy: 'served',
    nginx: 'served',
    why: 'Kubernetes compares whole path elements: `/foo/` is the same prefix as `/foo`',
    shownElsewhere: true,
  },
  rewrittenEncoding: {
    what: 'what a group of `rewrite-target` holds, as a backend sees it: `%2F`',
    ingressNginx: 'decoded, and encoded again where a path needs it: `/`',
    envoy: 'as it was sent',
    why: 'Envoy rewrites the path as it is encoded',
  },
  lineBreakInPrefix: {
    what: 'encoded line break (`%0a`) in a path of which `x-forwarded-prefix` holds a group',
    ingressNginx: 'decoded, so that a client can write headers of its own',
    envoy: 'stays encoded',
    nginx: '400',
    why: 'backends trust what the proxy says',
  },
  rewrittenWithoutSlash: {
    what: '`rewrite-target: $1` with a result that does not begin with `/`',
    ingressNginx: 'sent so; most backends answer 400',
    envoy: '500, as where nothing is left',
    why: 'it is no request that a backend can read',
  },
  bareUrl: {
    what: '`rewrite-target: https://example.com`, the `Location` of the answer',
    ingressNginx: 'without a slash at its end',
    envoy: 'with it',
    why: 'a URL with an empty path means the same',
  },
  rawBytes: {
    what: 'bytes above 127 in a path, not escaped',
    ingressNginx: 'passed on',
    envoy: 'HTTP/1: 400; escape them',
    why: "Envoy's parser refuses them",
  },
  fragment: {
    what: '`#` in a request line',
    ingressNginx: 'passed on',
    envoy: '400',
    why: 'clients keep fragments to themselves; whatever sends one is up to something',
  },
  forwardedRedirect: {
    what: 'scheme of `app-root`, and of `permanent-redirect` to a path, where `X-Forwarded-Proto` is believed',
    ingressNginx: 'that of the connection to it',
    envoy: 'that of the client',
    nginx: 'that of the client',
    why: 'clients would be sent to plain HTTP, to be redirected again',
  },
  redirectCase: {
    what: '`permanent-redirect` to a path, on a wildcard host, for a Host in upper case',
    ingressNginx: 'to the host in lower case',
    envoy: 'to the host as it was written',
    why: 'Envoy',
  },
  trailingDot: {
    what: 'redirect to https for a Host with a dot at the end',
    ingressNginx: 'keeps the dot',
    envoy: 'drops it',
    why: 'Envoy has to drop it before it can find the host',
  },
  dotInHost: {
    what: 'dot at the end of a Host, as a backend sees it',
    ingressNginx: 'kept',
    envoy: 'dropped',
    why: 'see above',
  },
  compressionAny: {
    what: '`Accept-Encoding: *`, with `use-gzip` or `enable-brotli`',
    ingressNginx: 'not compressed',
    envoy: 'compressed',
    why: 'any encoding includes these',
  },
  compressionUpperCase: {
    what: '`Accept-Encoding: GZIP`',
    ingressNginx: 'compressed',
    envoy: 'not compressed',
    why: 'Envoy compares names of encodings as they are written; browsers and libraries write them in lower case',
  },
  compressionWeights: {
    what: '`Accept-Encoding` with weights: `br;q=0.5, gzip`',
    ingressNginx: 'brotli, else gzip, whatever their weights',
    envoy: 'what weighs most, which may be the answer as it is',
    why: 'it is what the client asks for',
  },
  compressionNoTransform: {
    what: 'answer with `Cache-Control: no-transform`',
    ingressNginx: 'compressed',
    envoy: 'left alone',
    why: 'it is what the backend asks for',
  },
  compressionHead: {
    what: '`HEAD`, where the answer to `GET` would be compressed',
    ingressNginx: 'says `Content-Encoding`, and no length',
    envoy: 'says the length that it has without compression',
    why: 'Envoy compresses bodies alone',
  },
  compressionWithoutType: {
    what: 'answer without `Content-Type`',
    ingressNginx: 'compressed with `gzip-types: *` alone',
    envoy: 'compressed',
    why: 'Envoy compares types only where there is one',
  },
  compressionAgents: {
    what: '`Vary` of an answer to a user agent for which `gzip-disable` is set',
    ingressNginx: '`Accept-Encoding`',
    envoy: 'none',
    why: 'the filter that compresses is skipped as a whole',
  },
  compressionOldClients: {
    what: 'answer to a request of HTTP/1.0 with `Accept-Encoding: gzip`',
    ingressNginx: 'not compressed by gzip',
    envoy: 'compressed',
    why: 'the client asks for it',
  },
  longRequestLine: {
    what: 'request line longer than 8 KiB',
    ingressNginx: '414',
    envoy: 'served up to 32 KiB, with the headers',
    why: 'Envoy limits the request line and the headers together',
  },
  longHeader: {
    what: 'one header line longer than 8 KiB',
    ingressNginx: '400',
    envoy: 'served up to 32 KiB, with the others',
    why: 'see above',
  },
  longHeaders: {
    what: 'request line and headers of more than 32 KiB',
    ingressNginx: '414 or 400',
    envoy: '400; a client that still writes may see its connection end',
    why: 'see above',
    shownElsewhere: true,
  },
  longHeadersHttp2: {
    what: 'the same over HTTP/2',
    ingressNginx: '400',
    envoy: 'the stream is reset (`INTERNAL_ERROR`)',
    why: 'Envoy sends no answer on such a stream',
    shownElsewhere: true,
  },
  manyHeaders: {
    what: 'more than 200 headers',
    ingressNginx: 'passed on',
    envoy: '400',
    why: 'protects Envoy',
  },
  expectTooLarge: {
    what: '`Expect: 100-continue` with a body that is too large',
    ingressNginx: '413',
    envoy: '`100 Continue`, then 413',
    why: 'Envoy answers the expectation first; leaving that to backends would keep clients of most backends waiting',
  },
  expectOther: {
    what: '`Expect` with anything else',
    ingressNginx: 'ignored',
    envoy: '417',
    why: "Envoy's parser",
  },
  twoDots: {
    what: 'Host with two dots in a row, `Host: a..b`',
    ingressNginx: '400',
    envoy: '404, unless a rule without a host takes it',
    why: 'no host of an Ingress can be called so',
  },
  envoyHeaders: {
    what: 'request headers that begin with `x-envoy-`',
    ingressNginx: 'passed on',
    envoy: 'removed',
    why: 'Envoy would obey them',
  },
  healthCheckType: {
    what: '`Content-Type` of the empty answer of `/healthz`',
    ingressNginx: '`text/html`',
    envoy: 'none',
    nginx: '`text/plain`',
    why: 'there is nothing in it',
  },
  emptyOptions: {
    what: '`OPTIONS` without a body, as a backend sees it',
    ingressNginx: 'as it was sent',
    envoy: 'with `Content-Length: 0`',
    why: 'Envoy',
  },
  http09: {
    what: 'a backend that answers something else than HTTP',
    ingressNginx: 'passed on as HTTP/0.9',
    envoy: '502',
    why: 'Envoy speaks no HTTP/0.9 with backends',
  },
  unresolved: {
    what: 'the name of an ExternalName Service does not exist',
    ingressNginx: '503',
    nginx: '502',
    why: 'nginx looks a name up when the request is on its way already',
  },
  largeAnswerHeaders: {
    what: 'headers of an answer larger than 4 KiB',
    ingressNginx: '502',
    envoy: 'passed on up to 60 KiB',
    why: 'nothing is gained by the limit',
  },
  chunkedBody: {
    what: 'body of a request without a declared length, as a backend sees it',
    ingressNginx: 'with `Content-Length`, unless `proxy-request-buffering` is `off`',
    envoy: 'chunked, as it was sent',
    why: 'Envoy passes bodies on as they come',
  },
  largeBodyRetry: {
    what: 'a request with a body of more than 1 MiB fails at an endpoint',
    ingressNginx: 'sent to another one',
    envoy: '502, unless `client-body-buffer-size` is as large',
    why: 'Envoy passes bodies on as they come, and keeps no more of them',
  },
  copiedBody: {
    what: '`mirror-target`, a request with a body of more than 1 MiB',
    ingressNginx: 'copied',
    envoy: 'not copied, unless `client-body-buffer-size` is as large',
    why: 'a copy that is passed on as it comes would make the client wait for its target',
  },
  copiedUpgrade: {
    what: '`mirror-target`, a WebSocket',
    ingressNginx: 'copied as a request without an upgrade',
    envoy: 'not copied',
    why: 'Envoy',
  },
  copyPath: {
    what: '`mirror-target: https://copies.example.com`, the path of a copy',
    ingressNginx: 'a path of its own configuration',
    envoy: 'that of the request',
    nginx: 'that of the request',
    why: 'nobody can have meant the other one',
    shownElsewhere: true,
  },
  copyHeaders: {
    what: '`mirror-target`, headers of a copy',
    ingressNginx: 'those of the client',
    envoy: 'those that the backend gets',
    nginx: 'those of the client, with `X-Forwarded-For` and the like as the backend gets them',
    why: 'a copy is there to be compared',
    shownElsewhere: true,
  },
  copyDelay: {
    what: '`mirror-target` that answers late, for a client that keeps its connection',
    ingressNginx: 'the next request waits for it',
    envoy: 'nobody waits',
    nginx: 'nobody waits',
    why: 'a copy must not change what clients see',
    shownElsewhere: true,
  },
  limitRateAfter: {
    what: '`limit-rate-after`',
    ingressNginx: 'the first kilobytes of an answer are not paced',
    envoy: 'everything is paced',
    why: 'Envoy has no such setting',
  },
  declinedUpgrade: {
    what: 'a backend declines an upgrade by a status below 400',
    ingressNginx: 'passed on',
    envoy: 'passed on without its body',
    why: 'Envoy',
  },
  grpcError: {
    what: 'a gRPC request that fails in the proxy',
    ingressNginx: 'an HTML page with the HTTP status',
    envoy: 'HTTP 200 with `grpc-status`',
    why: 'what gRPC clients expect; they would make much the same of the HTTP status',
  },
  server: {
    what: '`Server` in answers',
    ingressNginx: 'none',
    nginx: 'none; without the Lua module `nginx`, in place of what a backend says',
    why: 'nginx has no way of its own to leave it out',
  },
  http10: {
    what: 'version in the answer to a request of HTTP/1.0',
    ingressNginx: 'HTTP/1.1',
    envoy: 'HTTP/1.0',
    why: 'Envoy answers in the version of the request',
  },
  h2c: {
    what: 'HTTP/2 without TLS',
    ingressNginx: 'served',
    nginx: 'served from nginx 1.25.1 on; before, the connection ends',
    why: 'older nginx speaks only one of the two protocols on a port',
  },
  loggedTries: {
    what: 'log line of a request that was tried several times',
    ingressNginx: 'address, length and status of each try',
    envoy: 'those of the last one',
    why: 'Envoy keeps no list of tries',
    shownElsewhere: true,
  },
  loggedRedirect: {
    what: 'name of the backend in the log line of a redirect to https',
    ingressNginx: 'that of the path',
    envoy: '`-`',
    why: 'no backend was chosen',
    shownElsewhere: true,
  },
  loggedTooLarge: {
    what: 'name of the backend in the log line of a body that is too large (413)',
    ingressNginx: '`-`',
    envoy: 'that of the path',
    why: 'Envoy counts bytes on their way to the backend',
    shownElsewhere: true,
  },
  tracing: {
    what: 'tracing (`enable-opentelemetry`)',
    ingressNginx: 'a span for each request, of which backends are told by `traceparent`',
    nginx: 'nothing; what clients say of a trace is passed on',
    why: 'nginx traces with a module that is in no package of its usual distributions',
  },
  retryAlone: {
    what: 'a request fails at the only endpoint of a Service',
    ingressNginx: 'tried there up to three times',
    nginx: 'the same; without the Lua module tried once',
    why: 'nginx itself tries each address once',
    shownElsewhere: true,
  },
  requestTimeout: {
    what: 'a client that takes too long to send its headers, or pauses in its body',
    ingressNginx: '408 or the end of the connection after 60 s',
    envoy: '408 after 60 s, in a body 61 s',
    why: 'one timer of Envoy bounds silence on both sides, and a silent backend must give 504 first',
    shownElsewhere: true,
  },
  rewrittenLocation: {
    what: '`Location` of a backend that `proxy-redirect-to` turns into a path',
    ingressNginx: 'made absolute, with the scheme and the host of the request',
    envoy: 'the path',
    why: 'clients take both for the same',
  },
  silentConnection: {
    what: 'a connection on which nothing ever comes',
    ingressNginx: 'closed after 60 s',
    envoy: 'closed after 75 s',
    why: "Envoy's timer for headers starts with their first byte",
    shownElsewhere: true,
  },
  idleConnection: {
    what: 'a connection that rests after a request',
    ingressNginx: 'closed after 75 s',
    envoy: 'asked to close from 75 s on, closed after 80 s',
    why: 'a request that comes meanwhile is still served',
    shownElsewhere: true,
  },
  answers09: {
    what: 'answers to HTTP/0.9',
    ingressNginx: 'a bare body',
    envoy: 'with headers of HTTP/1.0',
    why: 'Envoy',
  },
  proxyProtocolAndList: {
    what: '`X-Forwarded-For` together with `use-proxy-protocol` and `use-forwarded-headers`',
    ingressNginx: 'followed from the address of the PROXY protocol on',
    nginx: 'the address of the PROXY protocol',
    why: 'nginx reads the address of a client from one place, and that one cannot be written by clients',
  },
  proxyDestination: {
    what: 'PROXY header that a TCP service passes on, with PROXY on both sides',
    ingressNginx: 'names the client of the header, and the address and port that were connected to',
    envoy: 'as it came',
    why: 'the Service learns what the client in front has asked for',
    shownElsewhere: true,
  },
  halfClose: {
    what: 'a client of a TCP service ends its side first',
    ingressNginx: 'the connection ends, and what the Service still says is lost',
    envoy: 'the Service is told, and may go on',
    why: 'TCP allows it, and some protocols live by it',
    shownElsewhere: true,
  },
} as const satisfies Readonly<Record<string, Difference>>;

export type DifferenceName = keyof typeof rows;

export const differences: Readonly<Record<DifferenceName, Difference>> = rows;
