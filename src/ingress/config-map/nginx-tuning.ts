/** What nginx alone has. */
import { codec } from '../declaration/codec.ts';
import { anyText, boolean, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { duration } from '../declaration/duration.ts';
import { approximated, HONOURED, refused } from '../declaration/support.ts';

const THREADS = approximated('Envoy runs as many threads as there are processors, or as `--envoy-concurrency` says.');
const NONE = approximated('Envoy has nothing of the kind, and needs nothing of it.');
const GROWS = approximated('Tables of Envoy grow by themselves.');

/** nginx takes no bucket of 65,536 bytes, to a multiple of a line of the cache. */
const bucket = integer({ min: 64, max: 32_768, of: 'bytes' });
const maxSize = integer({ min: 512, max: 1_048_576, of: 'entries' });

const noSnippet = refused('no text is copied into a configuration; with nginx a template of your own may hold it');

const snippet = (summary: string) => ({
  codec: anyText,
  default: '',
  summary,
  example: 'gzip_static on;',
  envoy: noSnippet,
  nginx: noSnippet,
});

export const nginxTuningKeys = configMapKeys({
  'worker-processes': {
    codec: codec<number | 'auto'>('a number, or auto', (text) => {
      if (text === 'auto') return text;
      const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
      return number > 0 ? number : undefined;
    }),
    default: 'auto',
    summary: 'Number of worker processes of nginx, or one per processor. The flag counts more.',
    example: '4',
    envoy: THREADS,
    nginx: HONOURED,
  },
  'worker-cpu-affinity': {
    codec: codec<readonly string[]>('masks of processors such as 01 10, or auto', (text) => {
      const masks = text.split(/ +/);
      const rest = masks[0] === 'auto' ? masks.slice(1) : masks;
      return masks.length <= 1024 && rest.every((mask) => /^[01]{1,1024}$/.test(mask)) ? masks : undefined;
    }),
    default: [],
    shownDefault: '',
    summary: 'On which processors worker processes run.',
    example: 'auto',
    envoy: NONE,
    nginx: HONOURED,
  },
  'worker-shutdown-timeout': {
    codec: duration,
    default: 240,
    shownDefault: '240s',
    summary: 'How long connections of former workers live on after a reload.',
    example: '30s',
    envoy: approximated('There are no reloads; `--drain-timeout` says how long connections may take when Envoy ends.'),
    nginx: HONOURED,
  },
  'enable-serial-reloads': {
    codec: boolean,
    default: false,
    summary: 'Whether a reload waits until workers of the former one have ended.',
    example: 'true',
    envoy: approximated('There are no reloads.'),
    nginx: approximated('A reload waits until new workers serve, whatever this says; former ones end by themselves.'),
  },
  'max-worker-connections': {
    codec: integer({ min: 512, max: 1_048_576, of: 'connections' }),
    default: 16_384,
    summary: 'How many connections a worker may have open.',
    example: '65536',
    envoy: approximated('The limit of open files of the process holds.'),
    nginx: HONOURED,
  },
  'max-worker-open-files': {
    codec: codec('0, or a whole number of files from 1024 on', (text) => {
      const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
      return number === 0 || number >= 1024 ? number : undefined;
    }),
    default: 0,
    summary: "How many files a worker may have open; 0 for the system's own limit.",
    example: '65536',
    envoy: approximated('The limit of open files of the process holds.'),
    nginx: HONOURED,
  },
  'enable-multi-accept': {
    codec: boolean,
    default: true,
    summary: 'Whether a worker accepts all new connections at once.',
    example: 'false',
    envoy: NONE,
    nginx: HONOURED,
  },
  'reuse-port': {
    codec: boolean,
    default: true,
    summary: 'Whether each worker has a socket of its own for new connections.',
    example: 'false',
    envoy: approximated('Each thread has one in any case.'),
    nginx: HONOURED,
  },
  'enable-aio-write': {
    codec: boolean,
    default: true,
    summary: 'Whether temporary files are written without waiting for the disk.',
    example: 'false',
    envoy: approximated('No body is written to a file.'),
    nginx: HONOURED,
  },
  'map-hash-bucket-size': {
    codec: bucket,
    default: 64,
    summary: 'Size of a bucket in tables of maps.',
    example: '128',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'server-name-hash-bucket-size': {
    codec: bucket,
    default: 0,
    shownDefault: 'as names ask for',
    defaultInWords: true,
    summary: 'Size of a bucket in the table of server names, at least what the names ask for.',
    example: '256',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'server-name-hash-max-size': {
    codec: maxSize,
    default: 1024,
    summary: 'Size of the table of server names, at least what their number asks for.',
    example: '4096',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'variables-hash-bucket-size': {
    codec: bucket,
    default: 256,
    summary: 'Size of a bucket in the table of variables.',
    example: '512',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'variables-hash-max-size': {
    codec: maxSize,
    default: 2048,
    summary: 'Size of the table of variables.',
    example: '4096',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'proxy-headers-hash-bucket-size': {
    codec: bucket,
    default: 64,
    summary: 'Size of a bucket in the table of headers for backends.',
    example: '128',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'proxy-headers-hash-max-size': {
    codec: maxSize,
    default: 512,
    summary: 'Size of the table of headers for backends.',
    example: '1024',
    envoy: GROWS,
    nginx: HONOURED,
  },
  'default-type': {
    codec: codec('a media type such as text/html', (text) =>
      /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(text) ? text : undefined,
    ),
    default: 'text/html',
    summary: 'Content-Type of what nginx answers by itself and that has none.',
    example: 'text/plain',
    envoy: approximated('Whatever Envoy answers by itself has a Content-Type that fits it.'),
    nginx: HONOURED,
  },
  'lua-shared-dicts': {
    codec: anyText,
    default: '',
    summary: 'Sizes of memory that Lua modules of ingress-nginx share.',
    example: 'certificate_data: 100, my_custom_plugin: 5',
    envoy: approximated('Nothing runs in Lua; memory is taken as it is needed.'),
    nginx: refused('its Lua has other dictionaries; a template of your own may change their sizes'),
  },
  'nginx-status-ipv4-whitelist': statusList('127.0.0.1'),
  'nginx-status-ipv6-whitelist': statusList('::1'),
  'main-snippet': snippet('Text for the main part of nginx.conf.'),
  'http-snippet': snippet('Text for the http part of nginx.conf.'),
  'server-snippet': snippet('Text for every server of nginx.conf.'),
  'location-snippet': snippet('Text for every location of nginx.conf.'),
  'stream-snippet': snippet('Text for the stream part of nginx.conf.'),
});

function statusList(byDefault: string) {
  const why = refused('no page of that kind is served; /metrics of the control plane says how it is');
  return {
    codec: anyText,
    default: byDefault,
    summary: 'Who may read `/nginx_status`.',
    example: byDefault,
    envoy: why,
    nginx: why,
  };
}
