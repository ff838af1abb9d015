/** What nginx alone has. */
export interface NginxTuning {
  /** Number of worker processes, or one for each processor. */
  readonly workerProcesses: number | 'auto';
  /** Masks of processors, or `auto`; empty for any. */
  readonly workerCpuAffinity: readonly string[];
  /** How long connections of former workers live on after a reload. */
  readonly workerShutdownSeconds: number;
  /** `worker_connections` */
  readonly workerConnections: number;
  /** How many files a worker may have open; 0 for the system's own limit. */
  readonly workerOpenFiles: number;
  /** `multi_accept` */
  readonly multiAccept: boolean;
  /** Whether each worker has a socket of its own for new connections. */
  readonly reusePort: boolean;
  /** `aio_write` */
  readonly aioWrite: boolean;
  /** `map_hash_bucket_size` */
  readonly mapHashBucketSize: number;
  /** At least, since the longest name asks for more; 0 for no more than that. */
  readonly serverNamesHashBucketSize: number;
  /** At least, since the number of names asks for more. */
  readonly serverNamesHashMaxSize: number;
  /** `variables_hash_bucket_size` */
  readonly variablesHashBucketSize: number;
  /** `variables_hash_max_size` */
  readonly variablesHashMaxSize: number;
  /** `proxy_headers_hash_bucket_size` */
  readonly proxyHeadersHashBucketSize: number;
  /** `proxy_headers_hash_max_size` */
  readonly proxyHeadersHashMaxSize: number;
  /** `default_type` */
  readonly defaultType: string;
  /** `grpc_buffer_size` in KiB; 0 for one page of memory. */
  readonly grpcBufferKb: number;
}

/** As in ingress-nginx. */
export const DEFAULT_TUNING: NginxTuning = {
  workerProcesses: 'auto',
  workerCpuAffinity: [],
  workerShutdownSeconds: 240,
  workerConnections: 16_384,
  workerOpenFiles: 0,
  multiAccept: true,
  reusePort: true,
  aioWrite: true,
  mapHashBucketSize: 64,
  serverNamesHashBucketSize: 0,
  serverNamesHashMaxSize: 1024,
  variablesHashBucketSize: 256,
  variablesHashMaxSize: 2048,
  proxyHeadersHashBucketSize: 64,
  proxyHeadersHashMaxSize: 512,
  defaultType: 'text/html',
  grpcBufferKb: 0,
};
