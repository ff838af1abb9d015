import { type LogFormat, parseLogFormat } from '../../model/log-format.ts';
import { parseStreamLogFormat, type StreamLogFormat } from '../../model/stream-log-format.ts';
import type { Codec } from './codec.ts';

export const logFormat: Codec<LogFormat> = { expects: 'text with variables of nginx', decode: parseLogFormat };

export const streamLogFormat: Codec<StreamLogFormat> = {
  expects: 'text with variables of nginx',
  decode: parseStreamLogFormat,
};
