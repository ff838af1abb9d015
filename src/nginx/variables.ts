import type { CapturingTemplate } from '../model/proxy-model.ts';
import type { Template, VariableName } from '../model/template.ts';
import { Expanded } from './quote.ts';

/** Where nginx, or the template, has another name for it. */
const NAMES: Partial<Readonly<Record<VariableName, string>>> = {
  request_id: 'req_id',
  forwarded_scheme: 'pass_access_scheme',
  forwarded_port: 'pass_port',
  trimmed_request_uri: 'redirect_uri',
};

/** A template with the variables of nginx, for one line: nginx looks at no value of a header for line breaks. */
export function expanded(template: Template): Expanded {
  return written(template, { ...NAMES, uri: 'line_uri' });
}

/** The same for a URL: nothing in it is decoded. */
export function expandedInUrl(template: Template): Expanded {
  return written(template, { ...NAMES, uri: 'sent_path' });
}

/**
 * The same with groups of the path. No variable that an expression looks up may stand beside them: nginx would go on with the groups
 * of that expression, for which it has measured no room.
 */
export function expandedGroups(template: CapturingTemplate): Expanded {
  return written(template, { ...NAMES, http_host: 'requested_host' });
}

function written(template: CapturingTemplate, names: typeof NAMES): Expanded {
  return new Expanded(
    template.map((part) => {
      if (typeof part === 'string' || 'capture' in part) return part;
      const { variable, argument } = part;
      return {
        variable: argument === undefined ? (names[variable] ?? variable) : `${variable}_${argument.toLowerCase()}`,
      };
    }),
  );
}
