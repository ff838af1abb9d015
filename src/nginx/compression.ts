import type { CompressionSettings, FormatSettings } from '../model/compression.ts';
import type { NginxSettings } from './config.ts';
import { Literal, Pattern } from './quote.ts';

/** @param hasBrotli whether this nginx has the module for it. */
export function compression({ gzip, brotli }: CompressionSettings, hasBrotli: boolean): NginxSettings['compression'] {
  return {
    ...(gzip && {
      gzip: {
        ...format(gzip),
        ...(gzip.exceptAgents !== undefined && { exceptAgents: new Pattern(gzip.exceptAgents) }),
      },
    }),
    ...(brotli && hasBrotli && { brotli: format(brotli) }),
  };
}

function format({ level, minBytes, types }: FormatSettings) {
  const added = types === 'all' ? ['*'] : types.filter((type) => type !== DEFAULT_TYPE);
  return { level, minBytes, types: added.map((type) => new Literal(type)) };
}

/** It belongs to the types in any case; nginx warns of what is said twice. */
const DEFAULT_TYPE = 'text/html';
