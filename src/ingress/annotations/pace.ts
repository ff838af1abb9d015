import { annotationFeature } from '../declaration/annotation.ts';
import { bodyDeclarations as shared } from '../declaration/bodies.ts';

const paths = { scope: 'paths', risk: 'Low', whenInvalid: 'default' } as const;

export const pace = annotationFeature({
  title: 'Pace of answers',
  keys: {
    'limit-rate': { ...shared['limit-rate'], ...paths, configMap: 'limit-rate' },
    'limit-rate-after': { ...shared['limit-rate-after'], ...paths, configMap: 'limit-rate-after' },
  },
  apply(values, { global }) {
    const kilobytes = values['limit-rate'] ?? global['limit-rate'];
    if (kilobytes === 0) return {};
    return { route: { pace: { kilobytes, after: values['limit-rate-after'] ?? global['limit-rate-after'] } } };
  },
});
