/** A client that speaks HTTP/3: a second Envoy, which is asked over plain HTTP and passes requests on. */
import { X509Certificate } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { type Answer, type Request, send } from './http-client.ts';
import { freePorts, startEnvoyWith } from './static-envoy.ts';

export interface Http3Request extends Omit<Request, 'port' | 'tls'> {
  /** On a connection of its own; else on one that is kept for all requests with this server name. */
  readonly fresh?: boolean;
}

export interface Http3Answer extends Answer {
  /** What the server showed; it must be for the server name of the handshake. */
  readonly certificate: X509Certificate;
}

export interface Http3Client {
  /** Rejects when no answer came over HTTP/3. */
  send(request: Http3Request): Promise<Http3Answer>;
  /** How many connections were opened so far that are kept. */
  keptConnections(): Promise<number>;
  stop(): Promise<void>;
}

const CERTIFICATE = 'x-client-saw-certificate';
const CLUSTER = 'x-client-cluster';
const SERVER_NAME = 'x-client-server-name';

/** @param address of the server; `127.0.0.1` if not given */
export async function startHttp3Client(serverPort: number, address = '127.0.0.1'): Promise<Http3Client> {
  const [port = 0] = await freePorts(1);
  const envoy = await startEnvoyWith((adminSocket) => bootstrap({ port, serverPort, address, adminSocket }));
  return {
    send: async ({ fresh = false, serverName, headers, ...request }) => {
      const own = {
        [CLUSTER]: fresh ? 'fresh' : 'kept',
        [SERVER_NAME]: serverName ?? request.host.replace(/:\d+$/, ''),
      };
      const answer = await send({ ...request, port, headers: { ...headers, ...own } });
      const { [CERTIFICATE]: pem, ...others } = answer.headers;
      if (typeof pem !== 'string' || pem.length < 2) throw new Error(`no answer over HTTP/3: ${answer.body}`);
      return { ...answer, headers: others, certificate: new X509Certificate(decodeURIComponent(pem)) };
    },
    keptConnections: () => readStat(envoy.adminSocket, 'cluster.kept.upstream_cx_http3_total'),
    stop: envoy.stop,
  };
}

interface BootstrapOptions {
  readonly port: number;
  readonly serverPort: number;
  readonly address: string;
  readonly adminSocket: string;
}

function bootstrap(options: BootstrapOptions): object {
  return {
    admin: { address: { pipe: { path: options.adminSocket } } },
    static_resources: {
      listeners: [
        {
          name: 'client',
          address: socketAddress('127.0.0.1', options.port),
          filter_chains: [{ filters: [connectionManager()] }],
        },
      ],
      clusters: [cluster('kept', {}, options), cluster('fresh', { max_requests_per_connection: 1 }, options)],
    },
  };
}

function connectionManager(): object {
  return {
    name: 'envoy.filters.network.http_connection_manager',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      stat_prefix: 'client',
      generate_request_id: false,
      scheme_header_transformation: { scheme_to_overwrite: 'https' },
      server_header_transformation: 'PASS_THROUGH',
      max_request_headers_kb: 96,
      route_config: {
        request_headers_to_remove: [CLUSTER, 'x-forwarded-proto'],
        response_headers_to_add: [
          {
            header: { key: CERTIFICATE, value: '%UPSTREAM_PEER_CERT%' },
            append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
          },
        ],
        virtual_hosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [{ match: { prefix: '/' }, route: { cluster_header: CLUSTER, timeout: '10s' } }],
          },
        ],
      },
      http_filters: [
        {
          name: 'envoy.filters.http.router',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
            suppress_envoy_headers: true,
          },
        },
      ],
    },
  };
}

function cluster(name: string, common: object, { serverPort, address }: BootstrapOptions): object {
  return {
    name,
    connect_timeout: '3s',
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(address, serverPort) } }] }],
    },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        explicit_http_config: { http3_protocol_options: {} },
        common_http_protocol_options: common,
        upstream_http_protocol_options: { auto_sni: true, override_auto_sni_header: SERVER_NAME },
      },
    },
    transport_socket: {
      name: 'envoy.transport_sockets.quic',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport',
        upstream_tls_context: { common_tls_context: {} },
      },
    },
  };
}

function socketAddress(address: string, port: number): object {
  return { socket_address: { address, port_value: port } };
}

function readStat(socketPath: string, name: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  httpRequest({ socketPath, path: `/stats?filter=^${name}$`, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    response.on('error', reject);
    response.on('end', () => resolve(Number(/: (\d+)/.exec(text)?.[1] ?? 0)));
  })
    .on('error', reject)
    .end();
  return promise;
}
