import type { CanaryHeader } from '../../model/canary.ts';
import { type AnnotationKey, annotationFeature, type Finding, ignoredFindings } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { boolean, choice, integer, textOf } from '../declaration/codecs.ts';
import { regex } from '../declaration/regex.ts';
import { approximated, HONOURED, type SupportByProxy } from '../declaration/support.ts';

/** Fields that all of these annotations share. */
const COMMON = { scope: 'paths', whenInvalid: 'default' } as const satisfies Partial<AnnotationKey>;

const WITH_LUA: SupportByProxy = {
  envoy: HONOURED,
  nginx: approximated('nginx needs its Lua module for it; without that, all requests go to the primary.'),
};

/** As nginx compares names of headers. */
const headerName = codec('the name of a header', (text) =>
  /^[A-Za-z0-9_.~-]+$/.test(text) ? text.toLowerCase().replaceAll('_', '-') : undefined,
);

export const canary = annotationFeature({
  title: 'Canaries',
  keys: {
    canary: {
      ...COMMON,
      ...WITH_LUA,
      codec: boolean,
      risk: 'Low',
      default: 'false',
      summary:
        'Whether the Ingress takes a part of the requests of another one with the same hosts and paths. Its settings are those of the other; of several such Ingresses the rules of the oldest are asked first, and their weights add up.',
      example: 'true',
    },
    'canary-weight': {
      ...COMMON,
      ...WITH_LUA,
      codec: integer(),
      risk: 'Low',
      default: '0',
      summary: 'How many of `canary-weight-total` requests go to the canary, of those that no other rule decides.',
      example: '10',
    },
    'canary-weight-total': {
      ...COMMON,
      ...WITH_LUA,
      codec: integer(),
      risk: 'Low',
      default: '100',
      summary: 'What `canary-weight` is a part of; less than 100 counts as 100.',
      example: '1000',
    },
    'canary-by-header': {
      ...COMMON,
      ...WITH_LUA,
      codec: headerName,
      risk: 'Medium',
      summary: 'A header that decides: `always` leads to the canary, `never` to the primary.',
      example: 'X-Canary',
    },
    'canary-by-header-value': {
      ...COMMON,
      ...WITH_LUA,
      codec: textOf('basicAndSpace'),
      risk: 'Medium',
      summary:
        'The value of the header of `canary-by-header` that leads to the canary, in place of `always` and `never`.',
      example: 'beta',
    },
    'canary-by-header-pattern': {
      ...COMMON,
      ...WITH_LUA,
      codec: regex,
      risk: 'Medium',
      summary:
        'A regular expression that is looked for in the header of `canary-by-header`, in place of `always` and `never`; it does not count beside `canary-by-header-value`.',
      example: 'beta|b[0-9]',
    },
    'canary-by-cookie': {
      ...COMMON,
      ...WITH_LUA,
      codec: textOf('basic', 'the name of a cookie'),
      risk: 'Medium',
      summary: 'A cookie that decides: `always` leads to the canary, `never` to the primary.',
      example: 'canary',
    },
    'affinity-canary-behavior': {
      ...COMMON,
      ...WITH_LUA,
      codec: choice('sticky', 'legacy'),
      risk: 'Low',
      default: 'sticky',
      summary:
        'On a canary, where its primary has session affinity: `sticky` keeps a client on the side that it came to first, `legacy` asks the rules each time.',
      example: 'legacy',
    },
  },
  apply(values) {
    if (values.canary !== true) return { warnings: withoutCanary(Object.keys(values)) };
    const total = Math.max(values['canary-weight-total'] ?? DEFAULT_TOTAL, DEFAULT_TOTAL);
    const cookie = values['canary-by-cookie'];
    const header = headerOf(
      values['canary-by-header'],
      values['canary-by-header-value'],
      values['canary-by-header-pattern'],
    );
    return {
      canary: {
        ...(header && { header }),
        ...(cookie !== undefined && { cookie }),
        sticky: values['affinity-canary-behavior'] !== 'legacy',
        weight: Math.min(values['canary-weight'] ?? 0, total),
        total,
      },
    };
  },
});

const DEFAULT_TOTAL = 100;

function withoutCanary(names: readonly string[]): Finding[] {
  const others = names.filter((annotation) => annotation !== 'canary');
  return ignoredFindings(others, 'it has no effect without canary: "true"');
}

function headerOf(
  name: string | undefined,
  value: string | undefined,
  pattern: string | undefined,
): CanaryHeader | undefined {
  if (name === undefined) return undefined;
  if (value !== undefined) return { name, value };
  return pattern === undefined ? { name } : { name, pattern };
}
