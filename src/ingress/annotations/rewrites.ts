import type { CapturingTemplate } from '../../model/proxy-model.ts';
import { hostAndPort, urlTemplate } from '../../model/url-template.ts';
import { annotationFeature, type Finding } from '../declaration/annotation.ts';
import { capturingPath } from '../declaration/capturing-template.ts';
import { boolean } from '../declaration/codecs.ts';
import { approximated, HONOURED, whenOn } from '../declaration/support.ts';

/** The same for both, so that it is told once. */
const HOST_WIDE = [
  'With `use-regex`, or with a `rewrite-target` that is not the Ingress path itself, every path of the host becomes a regular expression, also those of other Ingresses and of type Exact.',
  'Expressions are tried from the start of the path of a request, in any case, the longest first: `/foo` also takes `/FOOBAR`, and `/foo/.*` takes what `/foo` of another Ingress protects.',
  'What a protected path means without being an expression stays protected: `Prefix /foo/` keeps `/foo`, which begins with no `/foo/`, and `Exact /` keeps the root.',
  'An Ingress with neither annotation takes from what another one protects only what its paths say literally, unless they are written as expressions: `/foo/bar` takes `/foo/bar/x` below a protected `/foo`, but not `/foo/barber`.',
].join(' ');
const RE2 =
  'Envoy speaks RE2: a path with a look-around, a back-reference, a possessive quantifier or an atomic group answers 503, with all that begins like it, but for a negative look-ahead for words before `.*`.';

export const rewrites = annotationFeature({
  title: 'Regular expressions and rewrites',
  keys: {
    'use-regex': {
      codec: boolean,
      scope: 'host',
      risk: 'Low',
      whenInvalid: 'default',
      default: 'false',
      summary: 'Whether paths are regular expressions.',
      quirk: HOST_WIDE,
      example: 'true',
      envoy: approximated(RE2, whenOn),
      nginx: HONOURED,
    },
    'rewrite-target': {
      codec: capturingPath({ spaces: 'refused' }),
      scope: 'host',
      risk: 'Medium',
      whenInvalid: 'default',
      summary: `The path that backends get in place of the whole path of a request, with what groups of the Ingress path match as $1 to $9; a URL redirects clients there (302).`,
      quirk: HOST_WIDE,
      example: '/$2',
      envoy: approximated(
        'What groups match stays percent-encoded. A result that does not begin with `/` is not sent: 500. Other variables than $1 to $9 stand in no target, but for `$scheme` and `$host` at the beginning of a URL: 503.',
        (target: CapturingTemplate) => !(target.length === 1 && String(target[0]).startsWith('/')),
      ),
      nginx: HONOURED,
    },
    'x-forwarded-prefix': {
      codec: capturingPath({ spaces: 'ignored' }),
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'refuse',
      summary: 'The header X-Forwarded-Prefix for backends, where rewrite-target changes the path.',
      example: '/shop',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply(values, { proxy }) {
    const target = values['rewrite-target'];
    const useRegex = values['use-regex'] ?? false;
    if (target === undefined && !useRegex) return {};
    const forwardedPrefix = values['x-forwarded-prefix'];
    const unusable = target === undefined || proxy === 'nginx' ? undefined : problemOf(target);
    return {
      host: {
        rewrite: { useRegex, ...(target && { target }), ...(forwardedPrefix && { forwardedPrefix }) },
      },
      ...(unusable && { denied: [unusable] }),
    };
  },
});

/** What Envoy cannot put into a path, or a URL. */
function problemOf(target: CapturingTemplate): Finding | undefined {
  const url = urlTemplate(target);
  const inPath = (url?.path ?? target).some((part) => typeof part === 'object' && 'variable' in part);
  const annotation = 'rewrite-target';
  if (inPath)
    return {
      annotation,
      reason: 'it puts another variable than $1 to $9 into the path, which Envoy cannot; use groups of the path',
    };
  if (url === undefined || hostAndPort(url.authority) !== undefined) return undefined;
  return {
    annotation,
    reason: 'the host of its URL is known only with a request, which Envoy cannot redirect to; write it out',
  };
}
