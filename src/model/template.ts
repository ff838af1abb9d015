/** Text with parts that are known only with a request. */
export type Template = readonly TemplatePart[];

/** Literal text, or a part of the request. */
export type TemplatePart = string | Variable;

/** A variable of nginx that has a meaning with every proxy. `argument` is what follows `http_`, `arg_` or `cookie_`. */
export interface Variable {
  readonly variable: VariableName;
  readonly argument?: string;
}

/**
 * `host`: without the port, lower case. `http_host`: as the client wrote it. `best_http_host`: what a load
 * balancer says of it, where that is believed. `request_uri`: path and query as they came. `uri`: the
 * path. `args`: the query without `?`. `is_args`: `?` where there is a query. `remote_addr`: the client. `http`, `arg` and `cookie`: a
 * header of the request, a parameter of its query, a cookie.
 */
export const variableNames = [
  'host',
  'http_host',
  'best_http_host',
  'scheme',
  'request_uri',
  'uri',
  'args',
  'is_args',
  'request_method',
  'remote_addr',
  'server_port',
  'request_id',
  'http',
  'arg',
  'cookie',
] as const;

/**
 * What the proxy's own redirects need beside them. `forwarded_scheme`: as the client used it, by what requests say where that is
 * believed. `forwarded_port`: the same of the port, where it is believed. `trimmed_request_uri`: path and query as they came, without
 * a slash at their very end. `port_suffix`: the port of the listener with a colon in front, or nothing where it is 80 or 443.
 */
type OwnVariableName = 'forwarded_scheme' | 'forwarded_port' | 'trimmed_request_uri' | 'port_suffix';

export type VariableName = (typeof variableNames)[number] | OwnVariableName;

/** Whether the text is the same for every request. */
export function isConstant(template: Template): boolean {
  return template.every((part) => typeof part === 'string');
}
