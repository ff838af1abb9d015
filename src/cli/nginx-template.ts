import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createTemplate, type Template, TemplateError } from '../nginx/template.ts';
import { builtInPartials, builtInTemplate } from '../nginx/template-files.ts';

/** The template in force, followed where it is a user's file. */
export interface TemplateWatch {
  /** The last one that could be read. */
  current(): Template;
  stop(): void;
}

const INTERVAL_MS = 500;

/**
 * @param file `--nginx-template`; absent: the built-in one.
 * @throws TemplateError when the file is no template at the start. Later the last good one stays.
 */
export async function watchTemplate(
  file: string | undefined,
  { onChange, onFault }: { readonly onChange: () => void; readonly onFault: (message: string) => void },
): Promise<TemplateWatch> {
  if (file === undefined) {
    const template = builtInTemplate();
    return { current: () => template, stop: () => {} };
  }
  let text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new TemplateError(error.message);
  });
  let template = createTemplate(file, text, builtInPartials());
  const reread = async () => {
    const next = await readFile(file, 'utf8').catch(() => undefined);
    if (next === undefined || next === text) return;
    text = next;
    try {
      template = createTemplate(file, next, builtInPartials());
      onChange();
    } catch (error) {
      onFault(error instanceof Error ? error.message : String(error));
    }
  };
  const listener = () => void reread();
  watchFile(file, { interval: INTERVAL_MS }, listener);
  return { current: () => template, stop: () => unwatchFile(file, listener) };
}
