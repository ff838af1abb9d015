import type { Template, VariableName } from '../model/template.ts';
import { Expanded } from './quote.ts';

/** Where nginx, or the template, has another name for it. */
const NAMES: Partial<Readonly<Record<VariableName, string>>> = {
  http_host: 'best_http_host',
  request_id: 'req_id',
  trimmed_request_uri: 'redirect_uri',
};

/** A template with the variables of nginx. */
export function expanded(template: Template): Expanded {
  return new Expanded(
    template.map((part) => {
      if (typeof part === 'string') return part;
      const { variable, argument } = part;
      return {
        variable: argument === undefined ? (NAMES[variable] ?? variable) : `${variable}_${argument.toLowerCase()}`,
      };
    }),
  );
}
