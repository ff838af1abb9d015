import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemplate, type Partials, type Template } from './template.ts';

/** The template that comes with the product. */
export function builtInTemplate(): Template {
  return createTemplate(readFileSync(join(import.meta.dirname, 'nginx.conf.eta'), 'utf8'), builtInPartials());
}

/** Its parts, which a template of a user may put in by name, too. */
export function builtInPartials(): Partials {
  const folder = join(import.meta.dirname, 'partials');
  const names = readdirSync(folder).filter((file) => file.endsWith('.eta'));
  return Object.fromEntries(
    names.map((file) => [file.slice(0, -'.eta'.length), readFileSync(join(folder, file), 'utf8')]),
  );
}
