/** The template of nginx.conf: eta with nginx's quoting, so that `<%= … %>` writes one quoted token. */
import { Script } from 'node:vm';
import { Eta, EtaRuntimeError, type TemplateFunction } from 'eta';
import type { NginxConfig } from './config.ts';
import { quote } from './quote.ts';

export interface Template {
  /** @throws TemplateError */
  render(config: NginxConfig): string;
}

/** A template that cannot be used, with the line and the reason: `nginx.tmpl:12: foo is not defined`. */
export class TemplateError extends Error {}

/** Texts by name; `<%~ include('@name', data) %>` puts one in. */
export type Partials = Readonly<Record<string, string>>;

/**
 * @param name of the template in messages.
 * @throws TemplateError for text that is no template.
 */
export function createTemplate(name: string, text: string, partials: Partials): Template {
  const eta = new Eta({ autoEscape: true, escapeFunction: quote, autoTrim: false, debug: true });
  for (const [partial, source] of Object.entries(partials)) {
    eta.loadTemplate(`@${partial}`, compile(eta, `@${partial}`, source));
  }
  const main = compile(eta, name, text);
  return {
    render: (config) => {
      try {
        return eta.render(main, config);
      } catch (error) {
        throw new TemplateError(runtimeMessage(error));
      }
    },
  };
}

/** The function of a template, which says where it is when something goes wrong in it. */
function compile(eta: Eta, name: string, source: string): TemplateFunction {
  let body: TemplateFunction;
  try {
    body = eta.compile(source);
  } catch (error) {
    throw new TemplateError(syntaxMessage(eta, name, source, error as Error));
  }
  return function (data, options) {
    return body.call(this, data, { ...options, filepath: name });
  };
}

/** The parser of tags names the line by itself; of the JavaScript between them only the engine knows. */
function syntaxMessage(eta: Eta, name: string, source: string, { message }: Error): string {
  const [, reason, ofTag] = /^(.*?) at line (\d+) col/.exec(message) ?? [];
  if (reason !== undefined) return `${name}:${ofTag}: ${reason}`;
  const program = eta.compileBody(eta.parse(source));
  try {
    new Script(program, { filename: 'template' });
  } catch (error) {
    const { message: why, stack = '' } = error as SyntaxError;
    const before = program.split('\n').slice(0, Number(/^template:(\d+)/.exec(stack)?.[1] ?? 1));
    const [, line = 1] = before.findLast((text) => LINE_MARK.test(text))?.match(LINE_MARK) ?? [];
    return `${name}:${line}: ${why}`;
  }
  return `${name}: ${message.split('\n').find((text, index) => index > 0 && text !== '') ?? message}`;
}

/** What eta writes into the program in front of the code of each tag. */
const LINE_MARK = /^__eta\.line=(\d+)$/;

/** `@location:7 (in nginx.conf.eta:34): reason`, the innermost place first. */
function runtimeMessage(error: unknown): string {
  const places: string[] = [];
  let reason = error;
  while (reason instanceof EtaRuntimeError) {
    places.unshift(reason.message.split('\n')[0] ?? '');
    reason = reason.cause;
  }
  const message = reason instanceof Error ? reason.message : String(reason);
  const [innermost, ...around] = places;
  return [innermost, around.length > 0 && `(in ${around.join(', ')})`].filter(Boolean).join(' ').concat(`: ${message}`);
}
