import type { RoutePolicy } from '../../model/proxy-model.ts';
import { annotationFeature } from '../declaration/annotation.ts';
import { domainRewrite, pathRewrite, type Rewrite, redirectPart, rewriteOf } from '../declaration/rewrites.ts';
import { HONOURED } from '../declaration/support.ts';

const common = { scope: 'paths', risk: 'Medium', whenInvalid: 'default', envoy: HONOURED, nginx: HONOURED } as const;

export const answerRewrites = annotationFeature({
  title: 'Addresses in answers of backends',
  keys: {
    'proxy-cookie-domain': {
      ...common,
      codec: domainRewrite,
      configMap: 'proxy-cookie-domain',
      summary:
        'Which `Domain` of cookies is replaced, and by what; `~` begins an expression, in any case, for any part of it.',
      example: 'backend.internal shop.example.com',
    },
    'proxy-cookie-path': {
      ...common,
      codec: pathRewrite,
      configMap: 'proxy-cookie-path',
      summary:
        'Which beginning of `Path` of cookies is replaced, and by what; `~` begins an expression for any part, of which the whole path is replaced.',
      example: '/app/ /',
    },
    'proxy-redirect-from': {
      ...common,
      codec: redirectPart,
      configMap: 'proxy-redirect-from',
      summary:
        'Which beginning of `Location` and `Refresh` is replaced; `~` begins an expression for any part, of which the whole URL is replaced. `off` and `default` replace nothing.',
      example: 'http://backend.internal/',
    },
    'proxy-redirect-to': {
      ...common,
      codec: redirectPart,
      configMap: 'proxy-redirect-to',
      summary: 'By what `proxy-redirect-from` is replaced; `off` replaces nothing.',
      example: 'https://shop.example.com/',
    },
  },
  apply(values, { global }) {
    const location = locationRewrite(
      values['proxy-redirect-from'] ?? global['proxy-redirect-from'],
      values['proxy-redirect-to'] ?? global['proxy-redirect-to'],
    );
    const cookieDomain = active(values['proxy-cookie-domain'] ?? global['proxy-cookie-domain']);
    const cookiePath = active(values['proxy-cookie-path'] ?? global['proxy-cookie-path']);
    const rewrites: NonNullable<RoutePolicy['answerRewrites']> = {
      ...(location !== undefined && { location }),
      ...(cookieDomain !== undefined && { cookieDomain }),
      ...(cookiePath !== undefined && { cookiePath }),
    };
    return Object.keys(rewrites).length === 0 ? {} : { route: { answerRewrites: rewrites } };
  },
});

function active(rewrite: Rewrite) {
  return rewrite === 'off' ? undefined : rewrite;
}

function locationRewrite(from: string, to: string) {
  return from === 'off' || from === 'default' || to === 'off' ? undefined : rewriteOf(from, to);
}
