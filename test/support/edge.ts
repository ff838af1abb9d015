/** A real Envoy, started with what the command `bootstrap` prints. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdmin, type EnvoyAdmin } from '../../src/envoy/admin.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { runCommand } from './command.ts';

export interface Edge {
  readonly admin: EnvoyAdmin;
  log(): string;
  stop(): Promise<void>;
}

/**
 * @param change what to change in the bootstrap, which is in JSON form.
 * @param more flags of `bootstrap`.
 */
export async function startEdge(
  xdsAddress: string,
  change: (bootstrap: string) => string = (text) => text,
  more: readonly string[] = [],
): Promise<Edge> {
  const { path } = await findEnvoy();
  const folder = await mkdtemp(join(tmpdir(), 'edge-'));
  const flags = ['--xds-address', xdsAddress, '--node-id', 'edge-1', '--output', 'json', ...more];
  const { code, output } = await runCommand(['bootstrap', ...flags]);
  if (code !== 0) throw new Error(output);
  await writeFile(join(folder, 'envoy.json'), change(output), { mode: 0o600 });
  // The admin socket is relative, so it appears in this folder.
  const child = spawn(path, ['-c', 'envoy.json', '--disable-hot-restart', '--concurrency', '1', '-l', 'warning'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const exited = once(child, 'exit');
  return {
    admin: createAdmin({ socketPath: join(folder, 'envoy-admin.sock') }),
    log: () => log,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
