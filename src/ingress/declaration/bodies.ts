/** What annotations and keys of the ConfigMap about bodies have in common: the same names, the same values. */
import { choice, integer, onOff, size } from './codecs.ts';
import { approximated, HONOURED, refused } from './support.ts';

const STREAMED = approximated('Answers are passed on as they come, in buffers that grow and shrink by themselves.');

const PACED = approximated('Together with `proxy-buffering: on` alone, as in ingress-nginx.');

export const bodyDeclarations = {
  'proxy-body-size': {
    codec: size,
    summary: 'Requests with a larger body are answered 413; `0` for no limit.',
    example: '8m',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'client-body-buffer-size': {
    codec: size,
    summary: 'How much of the body of a request is kept in memory, less than a gigabyte.',
    example: '16k',
    envoy: approximated(
      'Bodies are passed on as they come. Those of up to this size, of 1m in any case and of 16m at most, are kept so that they can be sent to another endpoint again.',
    ),
    nginx: HONOURED,
  },
  'proxy-request-buffering': {
    codec: onOff,
    summary: 'Whether a request waits until its body is there before it goes to a backend.',
    example: 'off',
    envoy: approximated('Bodies are passed on as they come, as with `off`.'),
    nginx: HONOURED,
  },
  'proxy-buffering': {
    codec: onOff,
    summary: 'Whether as much of an answer as possible is taken from the backend at once.',
    example: 'on',
    envoy: STREAMED,
    nginx: HONOURED,
  },
  'proxy-buffer-size': {
    codec: size,
    summary: 'How large the headers of an answer may be; more is answered 502. Size of each buffer for answers.',
    example: '16k',
    envoy: approximated(
      'Headers of up to 60 KiB are passed on in any case, with a larger value those of up to it (8m at most).',
    ),
    nginx: HONOURED,
  },
  'proxy-buffers-number': {
    codec: integer({ min: 1, max: 65_536, of: 'buffers' }),
    summary: 'Number of buffers for an answer.',
    example: '8',
    envoy: STREAMED,
    nginx: approximated('At least two, as nginx wants it.'),
  },
  'proxy-busy-buffers-size': {
    codec: size,
    summary: 'How much of an answer may be under way to the client while more of it is taken.',
    example: '16k',
    envoy: STREAMED,
    nginx: approximated('At least one buffer, at most all but one, as nginx wants it.'),
  },
  'proxy-max-temp-file-size': {
    codec: size,
    summary: 'How much of an answer that does not fit into buffers goes to a file; 0 for no file.',
    example: '0',
    envoy: approximated('Answers are never written to a file; a backend waits for a slow client.'),
    nginx: approximated('At least one buffer, as nginx wants it, unless it is 0.'),
  },
  'proxy-http-version': {
    codec: choice('1.0', '1.1'),
    summary: 'The version of HTTP in which backends are asked.',
    example: '1.1',
    envoy: approximated('For `1.0` it is HTTP/1.1 with a connection for each request.'),
    nginx: HONOURED,
  },
  'limit-rate': {
    codec: integer({ max: 4_194_303, of: 'kilobytes' }),
    summary: 'How many kilobytes of an answer are sent in a second; 0 for no limit.',
    example: '512',
    envoy: HONOURED,
    nginx: PACED,
  },
  'limit-rate-after': {
    codec: integer({ max: 4_194_303, of: 'kilobytes' }),
    summary: 'How many kilobytes of an answer are sent before `limit-rate` holds.',
    example: '1024',
    envoy: refused('an answer is paced from its first byte on, so choose a `limit-rate` that is right for all of it'),
    nginx: PACED,
  },
} as const;
