import {
  type Template,
  type TemplatePart,
  type Variable,
  type VariableName,
  variableNames,
} from '../../model/template.ts';
import type { Codec, Decoded } from './codec.ts';

/** Names of nginx, and what they are called here. */
const NAMES: Readonly<Record<string, VariableName>> = {
  ...Object.fromEntries(variableNames.map((name) => [name, name])),
  binary_remote_addr: 'remote_addr',
  query_string: 'args',
  document_uri: 'uri',
  req_id: 'request_id',
  pass_access_scheme: 'scheme',
};

/** The name of a header, parameter or cookie: neither nothing nor underscores alone. */
const ARGUMENT = /^_{0,16}[a-z0-9]\w{0,127}$/i;

const WITH_ARGUMENT: readonly VariableName[] = ['http', 'arg', 'cookie'];

/** Text with variables of nginx. A variable that is not known is named, not passed on. */
export function templateOf(expects: string, pattern: RegExp): Codec<Template> {
  return {
    expects,
    decode: (text) => (pattern.test(text) ? parseTemplate(text) : { reason: `is not ${expects}` }),
  };
}

/** `$name` and `${name}`; a `$` that begins neither is itself. */
export function parseTemplate(text: string): Decoded<Template> {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of text.matchAll(/\$(?:\{(\w+)\}|(\w+))/g)) {
    const name = match[1] ?? match[2] ?? '';
    const variable = variableOf(name);
    if (variable === undefined) return { reason: `holds the variable $${name}, which has no meaning here` };
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(variable);
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return { value: parts };
}

function variableOf(name: string): Variable | undefined {
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  if (known !== undefined && !WITH_ARGUMENT.includes(known)) return { variable: known };
  const prefix = WITH_ARGUMENT.find((one) => name.startsWith(`${one}_`));
  const argument = prefix === undefined ? '' : name.slice(prefix.length + 1);
  return prefix === undefined || !ARGUMENT.test(argument) ? undefined : { variable: prefix, argument };
}
