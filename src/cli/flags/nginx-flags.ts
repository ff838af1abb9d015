/** Flags of ingress-nginx that start here as well, so that its arguments need no change, but do nothing. */
import type { Flags } from './flag.ts';

const noRequestMetrics = 'metrics of requests are not collected yet';
const noLua = 'there is no Lua whose ports or retries could be set';
const noGeoIp = 'the country of a client is not looked up';
const noProfiler = 'there is no Go program to profile';

/** Metrics of requests. */
export const metricsFlags = {
  'enable-metrics': {
    type: 'boolean',
    default: false,
    describe: 'Collect metrics of requests',
    withoutMeaning: `${noRequestMetrics}; those of the control plane always are`,
  },
  'metrics-per-host': {
    type: 'boolean',
    default: true,
    describe: 'Label metrics with the host',
    withoutMeaning: noRequestMetrics,
  },
  'metrics-per-undefined-host': {
    type: 'boolean',
    default: false,
    describe: 'Label metrics with hosts of no Ingress as well',
    withoutMeaning: noRequestMetrics,
  },
  'report-status-classes': {
    type: 'boolean',
    default: false,
    describe: 'Label metrics with 2xx instead of 200',
    withoutMeaning: noRequestMetrics,
  },
  'time-buckets': {
    type: 'string',
    default: '0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10',
    describe: 'Buckets of durations, in seconds',
    withoutMeaning: noRequestMetrics,
  },
  'length-buckets': {
    type: 'string',
    default: '10,20,30,40,50,60,70,80,90,100',
    describe: 'Buckets of lengths',
    withoutMeaning: noRequestMetrics,
  },
  'size-buckets': {
    type: 'string',
    default: '10,100,1000,10000,100000,1e+06,1e+07',
    describe: 'Buckets of sizes, in bytes',
    withoutMeaning: noRequestMetrics,
  },
  'bucket-factor': {
    type: 'number',
    default: 0,
    describe: 'Growth of native histograms',
    withoutMeaning: noRequestMetrics,
  },
  'max-buckets': {
    type: 'number',
    default: 100,
    describe: 'Buckets of a native histogram at most',
    withoutMeaning: noRequestMetrics,
  },
  'exclude-socket-metrics': {
    type: 'string',
    describe: 'Names of metrics that are not collected',
    withoutMeaning: noRequestMetrics,
  },
  'monitor-max-batch-size': {
    type: 'number',
    default: 10_000,
    describe: 'Requests that are counted together at most',
    withoutMeaning: noRequestMetrics,
  },
} as const satisfies Flags;

/** Of reloads and Lua, which only the command `nginx` has. */
export const reloadFlags = {
  'sync-rate-limit': {
    type: 'number',
    default: 0.3,
    describe: 'Changes per second at most',
    withoutMeaning: 'a change costs no reload, so it takes effect at once',
  },
  'dynamic-configuration-retries': {
    type: 'number',
    default: 15,
    describe: 'Attempts to hand a change to Lua',
    withoutMeaning: noLua,
  },
} as const satisfies Flags;

/** What belongs to nginx, Lua and Go. */
export const nginxFlags = {
  'enable-annotation-validation': {
    type: 'boolean',
    default: true,
    describe: 'Check the values of annotations',
    withoutMeaning: 'values of annotations are always checked',
  },
  'ssl-passthrough-proxy-port': {
    type: 'number',
    default: 442,
    describe: 'Internal port for TLS that is passed through',
    withoutMeaning: 'what is not passed through needs no port of its own behind --https-port',
  },
  'enable-ssl-chain-completion': {
    type: 'boolean',
    default: false,
    describe: 'Fetch missing intermediate certificates',
    withoutMeaning:
      'certificates are served as they are: fetching from addresses that a certificate names is unsafe; put the intermediates into the Secret',
  },
  'default-server-port': {
    type: 'number',
    default: 8181,
    describe: 'Internal port for what no rule matches',
    withoutMeaning: 'what no rule matches is answered without a port of its own',
  },
  'status-port': { type: 'number', default: 10246, describe: 'Internal port for Lua', withoutMeaning: noLua },
  'stream-port': { type: 'number', default: 10247, describe: 'Internal port for Lua', withoutMeaning: noLua },
  'internal-logger-address': {
    type: 'string',
    default: '127.0.0.1:11514',
    describe: 'Address for the log of a chrooted nginx',
    withoutMeaning: 'the access log goes to the standard output',
  },
  profiling: { type: 'boolean', default: true, describe: 'Serve Go profiles', withoutMeaning: noProfiler },
  'profiler-port': { type: 'number', default: 10245, describe: 'Port for Go profiles', withoutMeaning: noProfiler },
  'profiler-address': {
    type: 'string',
    default: '127.0.0.1',
    describe: 'Address for Go profiles',
    withoutMeaning: noProfiler,
  },
  'maxmind-mirror': { type: 'string', describe: 'Where GeoIP data is fetched', withoutMeaning: noGeoIp },
  'maxmind-license-key': { type: 'string', describe: 'Key for fetching GeoIP data', withoutMeaning: noGeoIp },
  'maxmind-edition-ids': {
    type: 'string',
    default: 'GeoLite2-City,GeoLite2-ASN',
    describe: 'GeoIP data to fetch',
    withoutMeaning: noGeoIp,
  },
  'maxmind-retries-count': {
    type: 'number',
    default: 1,
    describe: 'Attempts to fetch GeoIP data',
    withoutMeaning: noGeoIp,
  },
  'maxmind-retries-timeout': {
    type: 'string',
    duration: true,
    default: '0s',
    describe: 'Pause between attempts to fetch GeoIP data',
    withoutMeaning: noGeoIp,
  },
} as const satisfies Flags;

const noLogFiles = 'the log goes to the standard output';
const noLogHeader = 'the form of the log is set with --log-format';

/** Flags of klog, the log library of ingress-nginx, which writes their names with underscores. */
export const klogFlags = {
  logtostderr: {
    type: 'boolean',
    default: true,
    describe: 'Log to the standard error instead of files',
    withoutMeaning: noLogFiles,
  },
  alsologtostderr: {
    type: 'boolean',
    default: false,
    describe: 'Log to the standard error as well as files',
    withoutMeaning: noLogFiles,
  },
  stderrthreshold: {
    type: 'string',
    default: '2',
    describe: 'From which severity on the log goes to the standard error as well',
    withoutMeaning: noLogFiles,
  },
  'legacy-stderr-threshold-behavior': {
    type: 'boolean',
    default: true,
    describe: 'Ignore stderrthreshold with logtostderr',
    withoutMeaning: noLogFiles,
  },
  'log-dir': { type: 'string', describe: 'Folder for log files', withoutMeaning: noLogFiles },
  'log-file': { type: 'string', describe: 'Log file', withoutMeaning: noLogFiles },
  'log-file-max-size': {
    type: 'number',
    default: 1800,
    describe: 'Size of a log file at most, in MB',
    withoutMeaning: noLogFiles,
  },
  'one-output': {
    type: 'boolean',
    default: false,
    describe: 'Write each line only to the log of its severity',
    withoutMeaning: noLogFiles,
  },
  'skip-log-headers': {
    type: 'boolean',
    default: false,
    describe: 'Begin log files without a header',
    withoutMeaning: noLogFiles,
  },
  'skip-headers': {
    type: 'boolean',
    default: false,
    describe: 'Write lines without time and place',
    withoutMeaning: noLogHeader,
  },
  'add-dir-header': {
    type: 'boolean',
    default: false,
    describe: 'Write the folder of the source file into each line',
    withoutMeaning: noLogHeader,
  },
  'log-backtrace-at': {
    type: 'string',
    default: ':0',
    describe: 'Line of the source at which a stack is written',
    withoutMeaning: 'it names lines of another program',
  },
  vmodule: {
    type: 'string',
    describe: 'Log levels of source files',
    withoutMeaning: 'it names files of another program; the log level is set with -v',
  },
} as const satisfies Flags;

const removed = 'ingress-nginx itself has removed it';

/** Flags that ingress-nginx had once, and that would stop its newer releases. */
export const formerFlags = {
  'enable-dynamic-certificates': {
    type: 'boolean',
    default: true,
    describe: 'Change certificates without a reload',
    withoutMeaning: `${removed}; certificates always change without a reload`,
  },
  'enable-dynamic-configuration': {
    type: 'boolean',
    default: true,
    describe: 'Change endpoints without a reload',
    withoutMeaning: `${removed}; nothing needs a reload`,
  },
  'force-namespace-isolation': {
    type: 'boolean',
    default: false,
    describe: 'Let Ingresses use nothing of other namespaces',
    withoutMeaning: `${removed}; whether an annotation may name another namespace is a key of the ConfigMap`,
  },
  'disable-node-list': {
    type: 'boolean',
    default: false,
    describe: 'Read no nodes',
    withoutMeaning: `${removed}; nodes are read only where their addresses are published`,
  },
  'sort-backends': {
    type: 'boolean',
    default: false,
    describe: 'Sort the endpoints of a Service',
    withoutMeaning: `${removed}; endpoints are always sorted`,
  },
  'running-in-cluster': {
    type: 'boolean',
    default: true,
    describe: 'Find the API server by the environment of the pod',
    withoutMeaning: `${removed}; the API server is found by --apiserver-host or --kubeconfig, or else by the pod`,
  },
  'nginx-configmap': {
    type: 'string',
    describe: 'NAMESPACE/NAME of the ConfigMap with the global options',
    refused: 'its options would be ignored; write --configmap',
  },
} as const satisfies Flags;
