/** What the ConfigMap says about connections, and about nginx itself. */
import type { ClientSettings, KeptConnections, StreamSettings } from '../model/connection-settings.ts';
import type { NginxTuning } from '../model/nginx-tuning.ts';
import type { ConfigMapValues } from './config-map/keys.ts';

export function clientSettings(values: ConfigMapValues): ClientSettings {
  return {
    keepAliveSeconds: values['keep-alive'],
    keepAliveRequests: values['keep-alive-requests'],
    headerSeconds: values['client-header-timeout'],
    bodySeconds: values['client-body-timeout'],
    headerBufferBytes: values['client-header-buffer-size'],
    largeHeaderBuffers: values['large-client-header-buffers'],
    http2Streams: values['http2-max-concurrent-streams'],
  };
}

export function keptConnections(values: ConfigMapValues): KeptConnections {
  return {
    idle: values['upstream-keepalive-connections'],
    idleSeconds: values['upstream-keepalive-timeout'],
    ageSeconds: values['upstream-keepalive-time'],
    requests: values['upstream-keepalive-requests'],
  };
}

/** In place of no limit, as for requests. */
const MAX_TRIES = 10;

export function streamSettings(values: ConfigMapValues): StreamSettings {
  const tries = values['proxy-stream-next-upstream-tries'];
  return {
    idleSeconds: values['proxy-stream-timeout'],
    tries: values['proxy-stream-next-upstream'] ? tries || MAX_TRIES : 1,
    triesWithinSeconds: values['proxy-stream-next-upstream-timeout'],
    udpResponses: values['proxy-stream-responses'],
  };
}

export function nginxTuning(values: ConfigMapValues): NginxTuning {
  return {
    workerProcesses: values['worker-processes'],
    workerCpuAffinity: values['worker-cpu-affinity'],
    workerShutdownSeconds: values['worker-shutdown-timeout'],
    workerConnections: values['max-worker-connections'],
    workerOpenFiles: values['max-worker-open-files'],
    multiAccept: values['enable-multi-accept'],
    reusePort: values['reuse-port'],
    aioWrite: values['enable-aio-write'],
    mapHashBucketSize: values['map-hash-bucket-size'],
    serverNamesHashBucketSize: values['server-name-hash-bucket-size'],
    serverNamesHashMaxSize: values['server-name-hash-max-size'],
    variablesHashBucketSize: values['variables-hash-bucket-size'],
    variablesHashMaxSize: values['variables-hash-max-size'],
    proxyHeadersHashBucketSize: values['proxy-headers-hash-bucket-size'],
    proxyHeadersHashMaxSize: values['proxy-headers-hash-max-size'],
    defaultType: values['default-type'],
    grpcBufferKb: values['grpc-buffer-size-kb'],
  };
}
