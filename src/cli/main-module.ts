import { fileURLToPath } from 'node:url';

/** The module that a control plane starts with: this command line, as source or as built. */
export function mainModule(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
}
