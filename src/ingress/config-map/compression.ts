/** Compression of answers. */
import { anyText, boolean, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { envoy: PLANNED, nginx: PLANNED } as const;
const TYPES =
  'application/atom+xml application/javascript application/x-javascript application/json application/rss+xml application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript text/plain text/x-component';
const types = { ...planned, codec: anyText, default: TYPES, example: 'text/css application/json' };

export const compressionKeys = configMapKeys({
  'use-gzip': {
    ...planned,
    codec: boolean,
    default: false,
    summary: 'Whether answers are compressed by gzip for clients that take it.',
    example: 'true',
  },
  'gzip-level': {
    ...planned,
    codec: integer({ min: 1, max: 9 }),
    default: 1,
    summary: 'How hard gzip tries.',
    example: '5',
  },
  'gzip-min-length': {
    ...planned,
    codec: integer({ of: 'bytes' }),
    default: 256,
    summary: 'Shorter answers are not compressed by gzip.',
    example: '1024',
  },
  'gzip-types': { ...types, summary: 'Types of content that gzip compresses; `*` for all.' },
  'gzip-disable': {
    ...planned,
    codec: anyText,
    default: '',
    summary: 'User agents for which gzip does not compress, as a regular expression.',
    example: 'msie6',
  },
  'enable-brotli': {
    ...planned,
    codec: boolean,
    default: false,
    summary: 'Whether answers are compressed by brotli for clients that take it.',
    example: 'true',
  },
  'brotli-level': {
    ...planned,
    codec: integer({ min: 0, max: 11 }),
    default: 4,
    summary: 'How hard brotli tries.',
    example: '6',
  },
  'brotli-min-length': {
    ...planned,
    codec: integer({ of: 'bytes' }),
    default: 20,
    summary: 'Shorter answers are not compressed by brotli.',
    example: '1024',
  },
  'brotli-types': { ...types, summary: 'Types of content that brotli compresses; `*` for all.' },
});
