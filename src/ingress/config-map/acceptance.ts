/** Which Ingresses are taken at all. */

import { codec } from '../declaration/codec.ts';
import { boolean, textList } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { risks } from '../declaration/risk.ts';
import { HONOURED } from '../declaration/support.ts';

export const acceptanceKeys = configMapKeys({
  'annotations-risk-level': {
    // Any other word is the strictest level, as in ingress-nginx.
    codec: codec('Low, Medium, High or Critical', (text) => {
      const level = risks.find((risk) => risk.toLowerCase() === text.toLowerCase());
      return level ?? 'Low';
    }),
    default: 'High',
    summary:
      'An Ingress with an annotation of a higher risk is refused. An unknown level counts as `Low`, the strictest.',
    example: 'Critical',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'annotation-value-word-blocklist': {
    codec: textList,
    default: [],
    shownDefault: '',
    summary: 'An Ingress is refused if the value of one of its annotations holds one of these texts.',
    example: 'load_module,lua_package,_by_lua,location,root,proxy_pass,serviceaccount',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'allow-snippet-annotations': {
    codec: boolean,
    default: false,
    summary:
      'Whether annotations that end in `-snippet` may be used; they also need `annotations-risk-level: Critical`.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'allow-cross-namespace-resources': {
    codec: boolean,
    default: false,
    summary: 'Whether annotations may name Secrets and ConfigMaps of other namespaces.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'strict-validate-path-type': {
    codec: boolean,
    default: true,
    summary:
      'The validating webhook refuses `Exact` and `Prefix` paths that hold anything but letters, digits and `/ . _ -`.',
    example: 'false',
    envoy: HONOURED,
    nginx: HONOURED,
  },
});
