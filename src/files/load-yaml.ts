/** The library that writes YAML and explains faults in it. Reading needs neither, and its many modules take longer than some files. */
import { createRequire } from 'node:module';

let loaded: typeof import('yaml') | undefined;

export function loadYaml(): typeof import('yaml') {
  loaded ??= createRequire(import.meta.url)('yaml') as typeof import('yaml');
  return loaded;
}
