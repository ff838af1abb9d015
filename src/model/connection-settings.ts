/** Connections of clients. */
export interface ClientSettings {
  /** How long a connection rests before it is closed; 0 for not at all. */
  readonly keepAliveSeconds: number;
  /** How many requests a connection takes. */
  readonly keepAliveRequests: number;
  /** How long the headers of a request may take. */
  readonly headerSeconds: number;
  /** How long a client may pause in the body of a request. */
  readonly bodySeconds: number;
  /** What is kept ready for the headers of a request, before larger buffers are used. */
  readonly headerBufferBytes: number;
  /** As many, each for one line, so that all headers together fit into their sum. */
  readonly largeHeaderBuffers: HeaderBuffers;
  /** How many requests of one HTTP/2 connection may be in flight. */
  readonly http2Streams: number;
}

/** Buffers for the lines of a request. */
export interface HeaderBuffers {
  /** How many. */
  readonly number: number;
  /** Of how many bytes each. */
  readonly bytes: number;
}

/** Connections to backends that are kept between requests. */
export interface KeptConnections {
  /** How many rest at a time, for each process and backend; 0 for none: each request has a connection of its own. */
  readonly idle: number;
  /** How long one may rest. */
  readonly idleSeconds: number;
  /** How old one may become. */
  readonly ageSeconds: number;
  /** How many requests one takes. */
  readonly requests: number;
}

/** Connections of TCP services, and datagrams of UDP services. */
export interface StreamSettings {
  /** How long both sides may be silent. */
  readonly idleSeconds: number;
  /** How many endpoints are tried until one accepts a connection. */
  readonly tries: number;
  /** No try begins later than so many seconds after the first; 0 for no limit. */
  readonly triesWithinSeconds: number;
  /** After how many datagrams of its backend a UDP session ends; 0: none is expected. */
  readonly udpResponses: number;
}

/** As in ingress-nginx. */
export const DEFAULT_CLIENTS: ClientSettings = {
  keepAliveSeconds: 75,
  keepAliveRequests: 1000,
  headerSeconds: 60,
  bodySeconds: 60,
  headerBufferBytes: 1024,
  largeHeaderBuffers: { number: 4, bytes: 8 * 1024 },
  http2Streams: 128,
};

export const DEFAULT_KEPT: KeptConnections = { idle: 320, idleSeconds: 60, ageSeconds: 3600, requests: 10_000 };

export const DEFAULT_STREAMS: StreamSettings = { idleSeconds: 600, tries: 3, triesWithinSeconds: 600, udpResponses: 1 };
