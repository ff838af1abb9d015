/**
 * `npm run build`: `dist/`, the published package. Modules are joined into a few, since to load hundreds takes longer than most commands
 * run.
 */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';

const [from, to] = ['src', 'dist'];
rmSync(to, { recursive: true, force: true });
const bundle = await rolldown({
  // What a process or a thread begins with, and what `envoy/install.sh` asks.
  input: Object.fromEntries(
    ['cli/main', 'files/parse-worker', 'envoy/binary'].map((name) => [name, join(from, `${name}.ts`)]),
  ),
  platform: 'node',
  tsconfig: true,
  // Packages stay what npm installs.
  external: (id) => !/^[./]/.test(id),
});
// In a folder of `dist`, as the sources are in folders of `src`: paths to other files are relative.
await bundle.write({ dir: to, chunkFileNames: 'cli/[name].js', sourcemap: false });
await bundle.close();
// What is read at run time, such as the schema.
for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !path.endsWith('.ts')) cpSync(path, join(to, relative(from, path)));
}
