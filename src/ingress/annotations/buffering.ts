import {
  type AnswerBuffering,
  DEFAULT_ANSWER_BUFFERING,
  DEFAULT_REQUEST_BUFFERING,
  type RequestBuffering,
} from '../../model/buffering.ts';
import { annotationFeature } from '../declaration/annotation.ts';
import { bodyDeclarations as shared } from '../declaration/bodies.ts';

const paths = { scope: 'paths', risk: 'Low', whenInvalid: 'default' } as const;

export const buffering = annotationFeature({
  title: 'Buffers for bodies',
  keys: {
    'client-body-buffer-size': {
      ...shared['client-body-buffer-size'],
      ...paths,
      whenInvalid: 'refuse',
      configMap: 'client-body-buffer-size',
    },
    'proxy-request-buffering': {
      ...shared['proxy-request-buffering'],
      ...paths,
      configMap: 'proxy-request-buffering',
    },
    'proxy-buffering': { ...shared['proxy-buffering'], ...paths, configMap: 'proxy-buffering' },
    'proxy-buffer-size': { ...shared['proxy-buffer-size'], ...paths, configMap: 'proxy-buffer-size' },
    'proxy-buffers-number': { ...shared['proxy-buffers-number'], ...paths, configMap: 'proxy-buffers-number' },
    'proxy-busy-buffers-size': {
      ...shared['proxy-busy-buffers-size'],
      ...paths,
      configMap: 'proxy-busy-buffers-size',
    },
    'proxy-max-temp-file-size': {
      ...shared['proxy-max-temp-file-size'],
      ...paths,
      configMap: 'proxy-max-temp-file-size',
    },
  },
  apply(values, { global }) {
    const all = { ...global, ...values };
    const asked = all['client-body-buffer-size'];
    const isTooMuch = asked >= TOO_MUCH_BYTES;
    const request: RequestBuffering = {
      complete: all['proxy-request-buffering'],
      memoryBytes: isTooMuch ? DEFAULT_REQUEST_BUFFERING.memoryBytes : asked,
    };
    const answer: AnswerBuffering = {
      ahead: all['proxy-buffering'],
      bufferBytes: all['proxy-buffer-size'] || DEFAULT_ANSWER_BUFFERING.bufferBytes,
      buffers: all['proxy-buffers-number'],
      busyBytes: all['proxy-busy-buffers-size'],
      fileBytes: all['proxy-max-temp-file-size'],
    };
    const headersKb = Math.ceil((values['proxy-buffer-size'] ?? 0) / 1024);
    return {
      route: {
        ...(!isSame(request, DEFAULT_REQUEST_BUFFERING) && { requestBuffering: request }),
        ...(!isSame(answer, DEFAULT_ANSWER_BUFFERING) && { answerBuffering: answer }),
      },
      ...(headersKb > ALWAYS_ENOUGH_KB && { cluster: { answerHeadersKb: headersKb } }),
      ...(isTooMuch && values['client-body-buffer-size'] !== undefined && { warnings: [TOO_MUCH] }),
    };
  },
});

/** Envoy takes as much without being asked, and nginx has a directive for each location. */
const ALWAYS_ENOUGH_KB = 60;

/** ingress-nginx heeds no value in gigabytes either: each request would take so much memory. */
const TOO_MUCH_BYTES = 1024 ** 3;
const TOO_MUCH = {
  annotation: 'client-body-buffer-size',
  reason: 'it asks for a gigabyte of memory, or more, for each request; 8k holds instead',
} as const;

function isSame<V extends object>(one: V, other: V): boolean {
  return (Object.keys(one) as (keyof V)[]).every((key) => one[key] === other[key]);
}
