/** Connections of clients. A change of most of these reaches the listeners, which drains connections once. */
import type { HeaderBuffers } from '../../model/connection-settings.ts';
import { type Codec, codec } from '../declaration/codec.ts';
import { integer, size } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

const positiveSeconds = integer({ min: 1, max: 2_000_000, of: 'seconds' });

/** Envoy takes no more than 8 MiB of headers. */
const headerBuffers: Codec<HeaderBuffers> = codec('a number and a size such as 4 16k, 8m together at most', (text) => {
  const [, digits = '', rest = ''] = /^(\d{1,4}) +(\S+)$/.exec(text) ?? [];
  const decoded = size.decode(rest);
  if (rest === '' || 'reason' in decoded) return undefined;
  const buffers = { number: Number(digits), bytes: decoded.value };
  const total = buffers.number * buffers.bytes;
  return buffers.bytes >= 1024 && total > 0 && total <= 8 * 1024 ** 2 ? buffers : undefined;
});

const SUPERSEDED = approximated('`large-client-header-buffers` holds for HTTP/2 too, as with nginx since 1.19.7.');
const REQUESTS = approximated('`keep-alive-requests` holds for HTTP/2 too, as with nginx since 1.19.7.');

export const clientConnectionKeys = configMapKeys({
  'keep-alive': {
    codec: integer({ max: 2_000_000, of: 'seconds' }),
    default: 75,
    summary: 'How long a connection of a client rests before it is closed, in seconds; 0 for one request a connection.',
    example: '15',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'keep-alive-requests': {
    codec: integer({ min: 1, of: 'requests' }),
    default: 1000,
    summary: 'How many requests a connection of a client takes.',
    example: '10000',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'client-header-timeout': {
    codec: positiveSeconds,
    default: 60,
    summary: 'How long the headers of a request may take, in seconds, before it is answered 408.',
    example: '10',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'client-body-timeout': {
    codec: positiveSeconds,
    default: 60,
    summary: 'How long a client may pause in the body of a request, in seconds.',
    example: '300',
    envoy: approximated(
      'The longest of this, `proxy-read-timeout` and `proxy-send-timeout` holds, since nothing tells the sides apart.',
    ),
    nginx: HONOURED,
  },
  'client-header-buffer-size': {
    codec: size,
    default: 1024,
    shownDefault: '1k',
    summary: 'What is kept ready for the headers of a request before larger buffers are used.',
    example: '8k',
    envoy: approximated('Memory is taken as it is needed, up to the sum of `large-client-header-buffers`.'),
    nginx: HONOURED,
  },
  'large-client-header-buffers': {
    codec: headerBuffers,
    default: { number: 4, bytes: 8 * 1024 },
    shownDefault: '4 8k',
    summary: 'How large the headers of a request may be: number and size of buffers. More is answered 400, or 414.',
    example: '4 32k',
    envoy: approximated('Their sum limits the request line and the headers together; no single line is limited.'),
    nginx: HONOURED,
  },
  'http2-max-concurrent-streams': {
    codec: integer({ min: 1, of: 'requests' }),
    default: 128,
    summary: 'How many requests of one HTTP/2 connection may be in flight.',
    example: '256',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'http2-max-field-size': {
    codec: size,
    default: 0,
    shownDefault: '',
    summary: 'Of former versions of nginx.',
    example: '8k',
    envoy: SUPERSEDED,
    nginx: SUPERSEDED,
  },
  'http2-max-header-size': {
    codec: size,
    default: 0,
    shownDefault: '',
    summary: 'Of former versions of nginx.',
    example: '32k',
    envoy: SUPERSEDED,
    nginx: SUPERSEDED,
  },
  'http2-max-requests': {
    codec: integer({ of: 'requests' }),
    default: 0,
    summary: 'Of former versions of nginx.',
    example: '1000',
    envoy: REQUESTS,
    nginx: REQUESTS,
  },
});
