/** Last step of `npm run build`: the compiler emits only what is TypeScript, but the codec reads the schema at run time. */

import { copyFileSync } from 'node:fs';

const name = 'gen/descriptors.binpb';
copyFileSync(new URL(`../src/${name}`, import.meta.url), new URL(`../dist/${name}`, import.meta.url));
