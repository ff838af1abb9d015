/** `npm run check`: everything that can be said about the code without running it. Exits 1 if a step fails. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const boundaryRules = ['--only=style/noRestrictedImports', '--only=suspicious/noImportCycles'];

const steps: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'format', command: ['biome', 'check', '--linter-enabled=false'] },
  { name: 'lint', command: ['biome', 'lint', '--error-on-warnings'] },
  { name: 'boundaries', command: ['biome', 'lint', '--error-on-warnings', ...boundaryRules] },
  { name: 'types', command: ['tsc', '--project', '.'] },
  { name: 'generated schema', command: ['node', 'protos/generate.ts', '--check'] },
  { name: 'generated documents', command: ['node', 'docs/generate.ts', '--check'] },
  { name: 'unused code', command: ['knip', '--no-progress'] },
];

const root = join(import.meta.dirname, '../..');
const bin = join(root, 'node_modules/.bin');
const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };

function run(command: readonly string[]): { readonly ok: boolean; readonly output: string } {
  const [program = '', ...args] = command;
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: root, env, encoding: 'utf8' });
  return { ok: status === 0, output: error === undefined ? stdout + stderr : `${error.message}\n` };
}

const failed: string[] = [];
for (const { name, command } of steps) {
  const start = performance.now();
  const { ok, output } = run(command);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${ok ? 'ok    ' : 'failed'}  ${name.padEnd(20)} ${seconds.padStart(5)} s`);
  if (ok) continue;
  failed.push(name);
  console.log(`\n$ ${command.join(' ')}\n${output}`);
}
console.log(failed.length === 0 ? 'All checks passed.' : `Failed: ${failed.join(', ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;
