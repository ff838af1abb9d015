import { buildBootstrap } from '../../../src/envoy/bootstrap.ts';

export interface StaticProxy {
  readonly adminSocket: string;
  readonly listenPort: number;
  readonly backendPort: number;
}

/**
 * The bootstrap of the product, but for the control plane: instead, one listener on 127.0.0.1 forwards everything to one
 * backend there.
 */
export function staticBootstrap({ adminSocket, listenPort, backendPort }: StaticProxy): object {
  const extensions = 'type.googleapis.com/envoy.extensions.filters';
  const connectionManager = {
    '@type': `${extensions}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'test',
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          routes: [{ match: { prefix: '/' }, route: { cluster: 'backend', timeout: '0s' } }],
        },
      ],
    },
    http_filters: [{ name: 'router', typed_config: { '@type': `${extensions}.http.router.v3.Router` } }],
  };
  return {
    ...buildBootstrap({
      node: { id: 'test', cluster: 'test' },
      xds: { kind: 'unix', path: '/nonexistent' },
      adminSocket,
      maxDownstreamConnections: 1_000,
    }),
    dynamic_resources: {},
    static_resources: {
      listeners: [
        {
          name: 'test',
          address: socketAddress(listenPort),
          filter_chains: [{ filters: [{ name: 'http', typed_config: connectionManager }] }],
        },
      ],
      clusters: [
        {
          name: 'backend',
          type: 'STATIC',
          load_assignment: {
            cluster_name: 'backend',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(backendPort) } }] }],
          },
        },
      ],
    },
  };
}

function socketAddress(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } };
}
