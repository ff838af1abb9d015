import type { AnswerBuffering } from '../model/buffering.ts';

/**
 * Sizes as nginx takes them, in bytes: it refuses its whole configuration for a combination that makes no sense. `busy` is between one
 * buffer and all but one.
 */
export function bufferSizes({ bufferBytes, buffers, busyBytes, fileBytes }: AnswerBuffering) {
  const number = Math.max(2, buffers);
  const busy = Math.min(Math.max(busyBytes || 2 * bufferBytes, bufferBytes), (number - 1) * bufferBytes);
  return { buffer: bufferBytes, number, busy, file: fileBytes === 0 ? 0 : Math.max(fileBytes, bufferBytes) };
}
