import { parseForRe2 } from '../model/re2-pattern.ts';
import type { Template, Variable } from '../model/template.ts';
import { HOST_WITHOUT_PORT } from './cel.ts';
import { asItCame } from './filters/original-request.ts';

/** A template as a format string of Envoy, for requests and redirects. What is not there is written as nothing. */
export function formatString(template: Template): string {
  return written(template, operator);
}

/** The same for answers, which are made when path and host of a request are already those that a backend got. */
export function answerFormatString(template: Template): string {
  return written(template, answerOperator);
}

function written(template: Template, operatorOf: (variable: Variable) => string): string {
  return template.map((part) => (typeof part === 'string' ? literal(part) : operatorOf(part))).join('');
}

/** Text that stands for itself in a format string. */
export function literal(text: string): string {
  return text.replaceAll('%', '%%');
}

/** The host that counts, without its port, as it was written: Envoy has nothing that turns a header to lower case. */
export const HOST = `%CEL(${HOST_WITHOUT_PORT})%`;

const ON_USUAL_PORT = 'destination.port in [80, 443]';

/** The host that counts: what a load balancer says of it where that is believed. */
export const BEST_HTTP_HOST = asItCame('ingress.best-host', asItCame('ingress.authority', 'request.host'));

/** Path and query as the client sent them, also when a backend has got others. */
export const REQUEST_URI = asItCame('ingress.path', 'request.path');

/** Path and query without a slash at their very end. */
export const TRIMMED_REQUEST_URI = "%CEL(re.extract(request.path, '^(.*?)/?$', '\\\\1'))%";

function answerOperator(part: Variable): string {
  switch (part.variable) {
    case 'best_http_host':
      return `%CEL(${BEST_HTTP_HOST})%`;
    case 'request_uri':
      return `%CEL(${REQUEST_URI})%`;
    default:
      return operator(part);
  }
}

function operator({ variable, argument = '' }: Variable): string {
  switch (variable) {
    case 'host':
      return `%CEL(${asItCame('ingress.host', HOST_WITHOUT_PORT)})%`;
    case 'http_host':
      return `%CEL(${asItCame('ingress.authority', 'request.host')})%`;
    case 'best_http_host':
      return '%REQ(:AUTHORITY)%';
    case 'scheme':
    case 'forwarded_scheme':
      return '%REQ(X-FORWARDED-PROTO)%';
    case 'request_uri':
      return '%REQ(:PATH)%';
    case 'uri':
      return '%CEL(request.url_path)%';
    case 'args':
      return '%CEL(request.query)%';
    case 'is_args':
      return "%CEL(request.query == '' ? '' : '?')%";
    case 'request_method':
      return '%REQ(:METHOD)%';
    case 'remote_addr':
      return '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%';
    case 'trimmed_request_uri':
      return TRIMMED_REQUEST_URI;
    case 'port_suffix':
      // Texts cannot be joined in an expression of a header.
      return `%CEL(${ON_USUAL_PORT} ? '' : ':')%%CEL(${ON_USUAL_PORT} ? '' : destination.port)%`;
    case 'forwarded_port':
      return "%CEL('x-forwarded-port' in request.headers ? request.headers['x-forwarded-port'] : destination.port)%";
    case 'server_port':
      return '%DOWNSTREAM_LOCAL_PORT%';
    case 'request_id':
      return '%REQ(X-REQUEST-ID)%';
    case 'http':
      return `%REQ(${argument.replaceAll('_', '-')})%`;
    case 'arg':
      return `%QUERY_PARAM(${argument})%`;
    case 'cookie':
      return `%CEL(re.extract(request.headers['cookie'], '^(?:.*?; *)??${argument}=([^;]*).*$', '\\\\1'))%`;
  }
}

/** What a group of a path's regular expression matches; nothing where there is no such group. */
export function capturedText(pattern: string, capture: number): string {
  const parsed = parseForRe2(pattern);
  if ('reason' in parsed || capture > parsed.captures) return '';
  // In a format string a per cent sign begins something, in the string of an expression a quote or a backslash does.
  const expression = parsed.parts.map(({ text }) => text).join('');
  const quoted = expression.replaceAll('%', '\\x25').replaceAll("'", '\\x27').replaceAll('\\', '\\\\');
  return `%CEL(re.extract(request.url_path, '(?i)${quoted}', '\\\\${capture}'))%`;
}
