/** Ports of TCP and UDP services. */
import type {
  envoy_config_listener_v3_ListenerFilter as ListenerFilter,
  envoy_config_listener_v3_Listener as ListenerMessage,
  envoy_config_listener_v3_Filter as NetworkFilter,
} from '../gen/messages.ts';
import type { StreamSettings } from '../model/connection-settings.ts';
import type { StreamListener } from '../model/proxy-model.ts';
import type { StreamLogFormat } from '../model/stream-log-format.ts';
import { streamAccessLog } from './access-log.ts';
import { type Binding, everyAddress, PROXY_PROTOCOL, portBinding } from './listener.ts';

interface StreamListenerOptions extends Binding {
  /** Of the lines that are written; absent: none. */
  readonly log?: StreamLogFormat;
}

export function streamListener(
  listener: StreamListener,
  settings: StreamSettings,
  options: StreamListenerOptions,
): ListenerMessage {
  const make = listener.protocol === 'tcp' ? tcpListener : udpListener;
  return make(listener, settings, options);
}

function tcpListener(
  listener: StreamListener,
  settings: StreamSettings,
  options: StreamListenerOptions,
): ListenerMessage {
  return {
    ...portBinding(listener, options),
    ...(listener.proxyProtocol && { listener_filters: [PROXY_PROTOCOL], listener_filters_timeout: { seconds: 5 } }),
    filter_chains: [{ name: 'tcp', filters: [tcpProxy(listener, settings, options)] }],
  };
}

/** `name`: under which its statistics stand. */
export function tcpProxy(
  listener: Omit<StreamListener, 'port'>,
  { idleSeconds, tries }: StreamSettings,
  { log }: Pick<StreamListenerOptions, 'log'>,
): NetworkFilter {
  const { name, cluster } = listener;
  return {
    name: 'envoy.filters.network.tcp_proxy',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
      stat_prefix: name,
      cluster,
      idle_timeout: { seconds: idleSeconds },
      max_connect_attempts: { value: tries },
      ...(log && { access_log: [streamAccessLog(log, listener)] }),
    },
  };
}

function udpListener(
  listener: StreamListener,
  settings: StreamSettings,
  options: StreamListenerOptions,
): ListenerMessage {
  const { name, port } = listener;
  return { name, ...everyAddress(port, options, 'udp'), listener_filters: [udpProxy(listener, settings, options)] };
}

const MAX_UDP_IDLE_SECONDS = 60;

function udpProxy(
  listener: StreamListener,
  { idleSeconds }: StreamSettings,
  { log }: StreamListenerOptions,
): ListenerFilter {
  const { name, cluster } = listener;
  return {
    name: 'envoy.filters.udp_listener.udp_proxy',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig',
      stat_prefix: name,
      // nginx ends a session with its first answer, and one without an answer after 600 s. Envoy can do the latter only, and
      // each session holds a socket.
      idle_timeout: { seconds: Math.min(idleSeconds, MAX_UDP_IDLE_SECONDS) },
      matcher: {
        on_no_match: {
          action: {
            name: 'route',
            typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.udp.udp_proxy.v3.Route', cluster },
          },
        },
      },
      ...(log && { access_log: [streamAccessLog(log, listener)] }),
    },
  };
}
