/** Last step of `npm run build`: the compiler emits only what is TypeScript, but other files are read at run time, such as the schema. */

import { cpSync } from 'node:fs';

const [from, to] = [new URL('../src/', import.meta.url), new URL('../dist/', import.meta.url)];
cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.ts') });
