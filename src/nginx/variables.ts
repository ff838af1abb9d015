import type { CapturingTemplate } from '../model/proxy-model.ts';
import type { VariableName } from '../model/template.ts';
import { Expanded } from './quote.ts';

/** Where nginx, or the template, has another name for it. */
const NAMES: Partial<Readonly<Record<VariableName, string>>> = {
  http_host: 'best_http_host',
  request_id: 'req_id',
  forwarded_scheme: 'pass_access_scheme',
  forwarded_port: 'pass_port',
  trimmed_request_uri: 'redirect_uri',
};

/** A template with the variables of nginx. */
export function expanded(template: CapturingTemplate): Expanded {
  return new Expanded(
    template.map((part) => {
      if (typeof part === 'string' || 'capture' in part) return part;
      const { variable, argument } = part;
      return {
        variable: argument === undefined ? (NAMES[variable] ?? variable) : `${variable}_${argument.toLowerCase()}`,
      };
    }),
  );
}
