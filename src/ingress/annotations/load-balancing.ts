import type { LoadBalancing } from '../../model/load-balancing.ts';
import type { ClusterPolicy } from '../../model/proxy-model.ts';
import { annotationFeature, type Effects, type Finding, leftoverFindings } from '../declaration/annotation.ts';
import { boolean, integer, textOf } from '../declaration/codecs.ts';
import { FEWER_REQUESTS, loadBalancingName } from '../declaration/load-balancing.ts';
import { approximated, HONOURED, whenOn } from '../declaration/support.ts';
import { parseTemplate } from '../declaration/template.ts';
import { quote } from '../diagnose.ts';

/** Kubernetes: what holds where `upstream-hash-by-subset` says no size. */
const DEFAULT_SUBSET = 3;

export const loadBalancing = annotationFeature({
  title: 'Choice of endpoints',
  keys: {
    'load-balance': {
      codec: loadBalancingName,
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'refuse',
      configMap: 'load-balance',
      summary: 'How endpoints share requests: one after another (`round_robin`), or those with less to do (`ewma`).',
      example: 'ewma',
      envoy: FEWER_REQUESTS,
      nginx: FEWER_REQUESTS,
    },
    'upstream-hash-by': {
      codec: textOf('variables', 'text with variables'),
      scope: 'service',
      risk: 'High',
      whenInvalid: 'refuse',
      summary:
        'Requests for which this text is the same go to the same endpoint; few of them move when endpoints come or go. It counts before `load-balance`.',
      example: '$request_uri',
      envoy: approximated('Which endpoint that is, nginx decides in another way.'),
      nginx: HONOURED,
    },
    'upstream-hash-by-subset': {
      codec: boolean,
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'refuse',
      default: 'false',
      summary: 'With `upstream-hash-by`: requests go to any of a few endpoints instead of one.',
      example: 'true',
      envoy: approximated(
        'They go to one endpoint, and to the next one while that has much more to do than others.',
        whenOn,
      ),
      nginx: approximated('Without the Lua module they go to one endpoint.', whenOn),
    },
    'upstream-hash-by-subset-size': {
      codec: integer({ min: 1, of: 'endpoints' }),
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'refuse',
      default: String(DEFAULT_SUBSET),
      summary: 'With `upstream-hash-by-subset`: how many endpoints.',
      example: '5',
      envoy: approximated('There is no fixed number of them: see `upstream-hash-by-subset`.'),
      nginx: approximated('Without the Lua module it is one.'),
    },
    'service-upstream': {
      codec: boolean,
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'service-upstream',
      summary:
        'Whether requests go to the address of the Service (`clusterIP`) instead of its endpoints. Headless Services are asked at their endpoints in any case.',
      example: 'true',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply(values, { global }) {
    const { 'service-upstream': serviceUpstream = global['service-upstream'] } = values;
    const own = serviceUpstream === global['service-upstream'] ? {} : { serviceUpstream };
    const text = values['upstream-hash-by'];
    if (text === undefined) {
      const effects = chosen(values['load-balance'], global['load-balance'], own);
      return { ...effects, warnings: [...(effects.warnings ?? []), ...subsetsOfNothing(values)] };
    }
    const decoded = parseTemplate(text);
    if ('reason' in decoded) {
      const reason = `${quote(text)} ${decoded.reason}; it has no effect`;
      return {
        cluster: own,
        warnings: [{ annotation: 'upstream-hash-by', reason, code: 'AnnotationInvalid', ignored: true }],
      };
    }
    const subset = values['upstream-hash-by-subset'] && {
      subset: values['upstream-hash-by-subset-size'] ?? DEFAULT_SUBSET,
    };
    const hashBy = { key: decoded.value, ...subset };
    const warnings = values['load-balance'] === undefined ? [] : [HASH_COUNTS];
    return { route: { hashBy }, cluster: { ...own, hashBy }, warnings };
  },
});

/** What only ingress-nginx itself can ask for is a mistake there, which fails every request. */
function chosen(name: string | undefined, byDefault: string, own: ClusterPolicy): Effects {
  if (name === undefined || name === byDefault) return { cluster: own };
  if (name === 'round_robin' || name === 'ewma')
    return { cluster: { ...own, loadBalancing: name satisfies LoadBalancing } };
  const reason = `${quote(name)} is no choice of its own; ${byDefault} holds instead`;
  return { cluster: own, warnings: [{ annotation: 'load-balance', reason } satisfies Finding] };
}

const HASH_COUNTS: Finding = {
  annotation: 'load-balance',
  reason: 'upstream-hash-by counts before it, so it has no effect',
  ignored: true,
};

function subsetsOfNothing(values: Readonly<Record<string, unknown>>): Finding[] {
  const names = ['upstream-hash-by-subset', 'upstream-hash-by-subset-size'].filter((name) => Boolean(values[name]));
  return leftoverFindings(names, 'it has no effect without upstream-hash-by');
}
