/**
 * Keys of the ConfigMap about nginx itself and about TCP and UDP services: whatever they say, hosts are served. What they become shows
 * the golden case `config-map-nginx`, what those of streams do test/parity/stream-settings.test.ts.
 */
import { host, startBodies } from './bodies.ts';
import type { AnnotationCase, AnnotationTable, KeyCases } from './table.ts';

const GOOD = {
  'worker-processes': '2',
  'worker-cpu-affinity': 'auto',
  'worker-shutdown-timeout': '30s',
  'enable-serial-reloads': 'true',
  'max-worker-connections': '1024',
  'max-worker-open-files': '2048',
  'enable-multi-accept': 'false',
  'reuse-port': 'false',
  'enable-aio-write': 'false',
  'map-hash-bucket-size': '128',
  'server-name-hash-bucket-size': '256',
  'server-name-hash-max-size': '4096',
  'variables-hash-bucket-size': '512',
  'variables-hash-max-size': '4096',
  'proxy-headers-hash-bucket-size': '128',
  'proxy-headers-hash-max-size': '1024',
  'default-type': 'text/plain',
  'lua-shared-dicts': 'certificate_data: 100',
  'proxy-stream-timeout': '1h 30m',
  'proxy-stream-next-upstream': 'false',
  'proxy-stream-next-upstream-tries': '2',
  'proxy-stream-next-upstream-timeout': '30s',
  'proxy-stream-responses': '0',
};

/** Most of them would keep nginx from starting. */
const BAD = {
  'worker-processes': '0',
  'worker-cpu-affinity': '0102',
  'worker-shutdown-timeout': 'soon',
  'enable-serial-reloads': 'on',
  'max-worker-connections': '1',
  'max-worker-open-files': '3',
  'enable-multi-accept': 'on',
  'reuse-port': 'on',
  'enable-aio-write': 'on',
  'map-hash-bucket-size': '1',
  'server-name-hash-bucket-size': '8',
  'server-name-hash-max-size': '0',
  'variables-hash-bucket-size': '1',
  'variables-hash-max-size': '1',
  'proxy-headers-hash-bucket-size': '1',
  'proxy-headers-hash-max-size': '1',
  'default-type': 'text; }',
  'proxy-stream-timeout': 'long',
  'proxy-stream-next-upstream': 'off',
  'proxy-stream-next-upstream-tries': 'two',
  'proxy-stream-next-upstream-timeout': '30 apples',
  'proxy-stream-responses': '-1',
};

function tuning(kind: keyof KeyCases, data: Readonly<Record<string, string>>): AnnotationTable {
  const served: AnnotationCase = { url: 'http://all.bodies.example.com/', text: 'try 1' };
  const keys = Object.keys(GOOD).map((key) => [`ConfigMap ${key}`, { good: [], default: [], [kind]: [served] }]);
  return {
    title: `nginx itself and streams, ${kind}`,
    start: () => startBodies([host('all')], data),
    keys: Object.fromEntries(keys),
  };
}

export const nginxTuning: readonly AnnotationTable[] = [
  tuning('good', GOOD),
  tuning('bad', BAD),
  tuning('default', {}),
];
