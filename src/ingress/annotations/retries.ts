import { DEFAULT_RETRIES, type Retries } from '../../model/retries.ts';
import { annotationFeature } from '../declaration/annotation.ts';
import { integer, seconds } from '../declaration/codecs.ts';
import { COUNTED, NO_LIMIT, nextUpstream, SAME_FAILURES } from '../declaration/next-upstream.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const retries = annotationFeature({
  title: 'Retries',
  keys: {
    'proxy-next-upstream': {
      codec: nextUpstream,
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'default',
      configMap: 'proxy-next-upstream',
      summary: 'What makes a request be sent to another endpoint; `off` for nothing.',
      example: 'error timeout http_502 http_503',
      envoy: approximated(SAME_FAILURES),
      nginx: HONOURED,
    },
    'proxy-next-upstream-timeout': {
      codec: seconds,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'proxy-next-upstream-timeout',
      summary: 'No further try begins later than so many seconds after the first; 0 for no limit.',
      example: '30',
      envoy: approximated(COUNTED),
      nginx: HONOURED,
    },
    'proxy-next-upstream-tries': {
      codec: integer({ of: 'tries' }),
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'proxy-next-upstream-tries',
      summary: 'How often a request is sent in all, the first time included.',
      example: '2',
      envoy: approximated(NO_LIMIT),
      nginx: approximated(NO_LIMIT),
    },
  },
  apply(values, { global }) {
    const { on, nonIdempotent } = values['proxy-next-upstream'] ?? global['proxy-next-upstream'];
    const tries = values['proxy-next-upstream-tries'] ?? global['proxy-next-upstream-tries'];
    const asked = {
      on,
      nonIdempotent: nonIdempotent || global['retry-non-idempotent'],
      tries: tries === 0 ? MAX_TRIES : tries,
      withinSeconds: values['proxy-next-upstream-timeout'] ?? global['proxy-next-upstream-timeout'],
    };
    return isDefault(asked) ? {} : { route: { retries: asked } };
  },
});

/** In place of no limit: a Service whose endpoints all fail at once would be asked without end. */
const MAX_TRIES = 10;

function isDefault({ on, nonIdempotent, tries, withinSeconds }: Retries): boolean {
  const byDefault = DEFAULT_RETRIES;
  return (
    on.join() === byDefault.on.join() &&
    nonIdempotent === byDefault.nonIdempotent &&
    tries === byDefault.tries &&
    withinSeconds === byDefault.withinSeconds
  );
}
