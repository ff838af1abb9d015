/** What is made of addresses in the answers of backends. */
import { configMapKeys } from '../declaration/config-map-key.ts';
import { domainRewrite, pathRewrite, redirectPart } from '../declaration/rewrites.ts';
import { HONOURED } from '../declaration/support.ts';

const off = { default: 'off', envoy: HONOURED, nginx: HONOURED } as const;

export const answerRewriteKeys = configMapKeys({
  'proxy-cookie-domain': {
    ...off,
    codec: domainRewrite,
    summary: 'Which `Domain` of cookies of backends is replaced, and by what.',
    example: 'backend.internal shop.example.com',
  },
  'proxy-cookie-path': {
    ...off,
    codec: pathRewrite,
    summary: 'Which beginning of `Path` of cookies of backends is replaced, and by what.',
    example: '/app/ /',
  },
  'proxy-redirect-from': {
    ...off,
    codec: redirectPart,
    summary: 'Which beginning of `Location` and `Refresh` of backends is replaced.',
    example: 'http://backend.internal/',
  },
  'proxy-redirect-to': {
    ...off,
    codec: redirectPart,
    summary: 'By what `proxy-redirect-from` is replaced.',
    example: 'https://shop.example.com/',
  },
});
