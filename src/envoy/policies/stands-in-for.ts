import type { StandsInFor } from '../../model/proxy-model.ts';
import { standInHeaders } from '../../model/stand-in.ts';
import { formatString } from '../format.ts';
import { overwrite } from '../headers.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

export const applyStandsInFor: ApplyPolicy<StandsInFor> = (original, routes) =>
  changeForwards(routes, (_, { request_headers_to_add = [] }) => ({
    request_headers_to_add: [
      ...request_headers_to_add,
      ...standInHeaders(original).map(([name, value]) => overwrite(name.toLowerCase(), formatString(value))),
    ],
  }));
