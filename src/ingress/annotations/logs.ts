import { namesIngress } from '../../model/log-format.ts';
import { annotationFeature } from '../declaration/annotation.ts';
import { boolean } from '../declaration/codecs.ts';
import { approximated, HONOURED, whenOn } from '../declaration/support.ts';

const noRewriteLog = approximated('Nothing is written about rewrites.', whenOn);

export const logs = annotationFeature({
  title: 'Logs',
  keys: {
    'enable-access-log': {
      codec: boolean,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      default: 'true',
      summary: 'Whether requests are written to the access log.',
      example: 'false',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'enable-rewrite-log': {
      codec: boolean,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      default: 'false',
      summary: 'Whether rewrites are written to the error log.',
      example: 'true',
      envoy: noRewriteLog,
      nginx: HONOURED,
    },
  },
  apply(values, { global, ingress }) {
    const off = values['enable-access-log'] === false;
    const named = ingress.name !== '' && namesIngress(global['log-format-upstream']);
    const rewrites = values['enable-rewrite-log'] === true;
    if (!off && !named && !rewrites) return {};
    return {
      route: { log: { ...(off && { off }), ...(named && { ingress: ingress.name }), ...(rewrites && { rewrites }) } },
    };
  },
});
