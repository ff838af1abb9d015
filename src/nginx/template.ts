/** The template of nginx.conf: eta with nginx's quoting, so that `<%= … %>` writes one quoted token. */
import { Eta } from 'eta';
import type { NginxConfig } from './config.ts';
import { quote } from './quote.ts';

export interface Template {
  /** @throws TemplateError that names the line of the template. */
  render(config: NginxConfig): string;
}

/** A template that cannot be used, with the reason and, where it is known, the line. */
export class TemplateError extends Error {}

/** Texts by name; `<%~ include('@name', data) %>` puts one in. */
export type Partials = Readonly<Record<string, string>>;

/** @throws TemplateError for text that is no template. */
export function createTemplate(text: string, partials: Partials): Template {
  const eta = new Eta({ autoEscape: true, escapeFunction: quote, autoTrim: false, debug: true });
  const compile = (name: string, source: string) => {
    try {
      return eta.compile(source);
    } catch (error) {
      throw new TemplateError(`${name}: ${firstLines(error)}`);
    }
  };
  for (const [name, source] of Object.entries(partials)) eta.loadTemplate(`@${name}`, compile(name, source));
  const main = compile('template', text);
  return {
    render: (config) => {
      try {
        return eta.render(main, config);
      } catch (error) {
        throw new TemplateError(error instanceof Error ? error.message : String(error));
      }
    },
  };
}

/** What the parser says, without the program that it made of the template. */
function firstLines(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [first = '', ...rest] =
    message
      .split('\n====')[0]
      ?.split('\n')
      .filter((line) => line.trim() !== '') ?? [];
  return [first, ...rest].join(': ');
}
