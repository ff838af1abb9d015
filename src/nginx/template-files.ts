import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTemplate, type Partials, type Template, TemplateError } from './template.ts';

/** Also from another folder of `dist`, where this module may stand. */
const FOLDER = fileURLToPath(new URL('../nginx', import.meta.url));

/** The template that comes with the product. */
export function builtInTemplate(): Template {
  const name = 'nginx.conf.eta';
  return createTemplate(name, readFileSync(join(FOLDER, name), 'utf8'), builtInPartials());
}

/** Its parts, which a template of a user may put in by name, too. */
export function builtInPartials(): Partials {
  const folder = join(FOLDER, 'partials');
  const names = readdirSync(folder).filter((file) => file.endsWith('.eta'));
  return Object.fromEntries(
    names.map((file) => [file.slice(0, -'.eta'.length), readFileSync(join(folder, file), 'utf8')]),
  );
}

/**
 * The template of a user.
 * @throws TemplateError for what cannot be read or is no template.
 */
export function userTemplate(file: string): Template {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new TemplateError((error as Error).message);
  }
  return createTemplate(file, text, builtInPartials());
}
