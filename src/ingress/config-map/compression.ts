/** Compression of answers. */
import { codec } from '../declaration/codec.ts';
import { boolean, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { contentTypes } from '../declaration/content-types.ts';
import { isRegex } from '../declaration/regex.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

const honoured = { envoy: HONOURED, nginx: HONOURED } as const;
const needsModule = approximated(
  'It needs the module for brotli (on Debian: libnginx-mod-http-brotli-filter); where nginx has none, a Diagnostic says so.',
);

const DEFAULT_TYPES =
  'application/atom+xml application/javascript application/x-javascript application/json application/rss+xml application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript text/plain text/x-component';
const types = {
  codec: contentTypes,
  default: ['text/html', ...DEFAULT_TYPES.split(' ')].sort(),
  shownDefault: DEFAULT_TYPES,
  example: 'text/css application/json',
  envoy: approximated('Answers without `Content-Type` are compressed too.'),
  nginx: approximated('Types of more than 46 characters are left out, with a Diagnostic: nginx has no place for them.'),
} as const;

/** What nginx knows by this word. */
const MSIE6 = 'MSIE [4-6]\\.';

const agents = codec(
  'a regular expression without look-around, back-references, possessive quantifiers and names of groups, or msie6',
  (text) => {
    if (text === 'msie6') return MSIE6;
    return isRegex(text) ? text : undefined;
  },
);

export const compressionKeys = configMapKeys({
  'use-gzip': {
    codec: boolean,
    default: false,
    summary:
      'Whether answers with the status 200, 403 and 404 are compressed by gzip for clients that take it. Of gzip and brotli the client gets brotli, where it takes both.',
    example: 'true',
    envoy: approximated(
      'A client gets what it prefers by its weights; with `Accept-Encoding: *` something, too. Answers with `Cache-Control: no-transform` are left alone; those to HTTP/1.0 are not.',
    ),
    nginx: HONOURED,
  },
  'gzip-level': {
    ...honoured,
    codec: integer({ min: 1, max: 9 }),
    default: 1,
    summary: 'How hard gzip tries.',
    example: '5',
  },
  'gzip-min-length': {
    ...honoured,
    codec: integer({ of: 'bytes' }),
    default: 256,
    summary: 'Answers whose `Content-Length` is smaller are not compressed by gzip.',
    example: '1024',
  },
  'gzip-types': {
    ...types,
    summary: 'Types of content that gzip compresses, beside `text/html`; `*` for all.',
  },
  'gzip-disable': {
    codec: agents,
    default: '',
    summary:
      'User agents for which gzip does not compress, as a regular expression for a part of the name, in any case; `msie6` stands for `MSIE [4-6]\\.`.',
    example: 'msie6',
    envoy: approximated('Their answers have no `Vary: Accept-Encoding`.'),
    nginx: HONOURED,
  },
  'enable-brotli': {
    codec: boolean,
    default: false,
    summary: 'Whether answers with the status 200, 403 and 404 are compressed by brotli for clients that take it.',
    example: 'true',
    envoy: approximated('As for `use-gzip`.'),
    nginx: needsModule,
  },
  'brotli-level': {
    ...honoured,
    codec: integer({ min: 0, max: 11 }),
    default: 4,
    summary: 'How hard brotli tries.',
    example: '6',
  },
  'brotli-min-length': {
    ...honoured,
    codec: integer({ of: 'bytes' }),
    default: 20,
    summary: 'Answers whose `Content-Length` is smaller are not compressed by brotli.',
    example: '1024',
  },
  'brotli-types': {
    ...types,
    summary: 'Types of content that brotli compresses, beside `text/html`; `*` for all.',
  },
});
