import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findNginx } from '../../../src/nginx/binary.ts';

const PACKAGES = [
  'nginx',
  'libnginx-mod-http-lua',
  'libnginx-mod-stream',
  'libnginx-mod-http-brotli-filter',
  'lua-cjson',
];

const run = promisify(execFile);

/**
 * Finds an nginx that can do all that is tested; if need be, and if it may, installs one.
 * @returns its version and path, for the log.
 * @throws Error that says what is missing and how to get it.
 */
export async function prepareNginx(onProgress: (line: string) => void): Promise<string> {
  const missing = await whatIsMissing();
  if (missing !== undefined) {
    const command = `apt-get install --yes --no-install-recommends ${PACKAGES.join(' ')}`;
    if (process.getuid?.() !== 0) throw new Error(`${missing}; on Debian: sudo ${command}`);
    onProgress(`${missing}: ${command}`);
    await install().catch((error: { stderr?: string; message: string }) => {
      throw new Error(`${command}: ${error.stderr?.trim() || error.message}`);
    });
    const still = await whatIsMissing();
    if (still !== undefined) throw new Error(still);
  }
  const { path, version } = await findNginx();
  return `nginx ${version} (${path})`;
}

async function install(): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = { env, maxBuffer: 64 * 1024 * 1024 };
  await run('apt-get', ['update'], options);
  await run('apt-get', ['install', '--yes', '--no-install-recommends', ...PACKAGES], options);
}

/** Asks nginx itself: a configuration that needs everything. */
async function whatIsMissing(): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'ingress-xds-nginx-'));
  try {
    const { path, modules, hasLua, hasStream, hasBrotli } = await findNginx();
    if (!hasLua) return `${path} has no module for Lua`;
    if (!hasStream) return `${path} has no module for streams`;
    if (!hasBrotli) return `${path} has no module for brotli`;
    const file = join(folder, 'nginx.conf');
    const loads = modules.map((module) => `load_module ${module};\n`).join('');
    const http = 'http { access_log off; init_by_lua_block { require("resty.core") require("cjson.safe") } }';
    writeFileSync(file, `${loads}pid ${folder}/nginx.pid; error_log stderr; events {} stream {} ${http}\n`);
    await run(path, ['-t', '-q', '-c', file]);
    return undefined;
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    return stderr?.trim() || message;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
