/** Finds nginx and says what it can do. */
import { execFile } from 'node:child_process';
import { access, constants, readdir } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { NginxFeatures } from './emit.ts';

export interface NginxBinary extends NginxFeatures {
  readonly path: string;
  /** `1.22.1` */
  readonly version: string;
  /** Whether it can run Lua: backends and certificates then change without a reload. */
  readonly hasLua: boolean;
  /** What an operator should know. */
  readonly warnings: readonly string[];
}

export class NginxNotFoundError extends Error {}

/** The first release without CVE-2026-42945. Those who build nginx for a distribution may have mended older ones. */
const FIRST_SAFE_VERSION = '1.30.1';

const FIRST_WITH_HTTP2_DIRECTIVE = '1.25.1';

/** In the order in which nginx has to load them. */
const DYNAMIC_MODULES = {
  ndk: 'ndk_http_module.so',
  lua: 'ngx_http_lua_module.so',
  stream: 'ngx_stream_module.so',
  brotli: 'ngx_http_brotli_filter_module.so',
} as const;

/**
 * @param path `--nginx-path`; without it the PATH is searched, then the usual places.
 * @throws NginxNotFoundError when there is none that runs.
 */
export async function findNginx(path?: string): Promise<NginxBinary> {
  const found = path ?? (await firstExecutable(candidates()));
  if (found === undefined) {
    throw new NginxNotFoundError('there is no nginx on the PATH: install it, or say where it is (--nginx-path)');
  }
  const description = await describe(found);
  const version = /nginx version: \S+?\/(\d+\.\d+\.\d+)/.exec(description)?.[1];
  if (version === undefined) throw new NginxNotFoundError(`${found} is no nginx: ${firstLine(description)}`);
  const folder = modulesFolder(description);
  const present = await readdir(folder).catch((): string[] => []);
  const file = (name: keyof typeof DYNAMIC_MODULES) =>
    present.includes(DYNAMIC_MODULES[name]) ? join(folder, DYNAMIC_MODULES[name]) : undefined;
  const [ndk, lua] = [file('ndk'), file('lua')];
  const luaBuiltIn = /--add-module=\S*lua-nginx-module/.test(description);
  const streamBuiltIn = /--with-stream(?!\S)/.test(description);
  const luaModules = luaBuiltIn || lua === undefined ? [] : [...(ndk === undefined ? [] : [ndk]), lua];
  const brotliBuiltIn = /--add-module=\S*brotli/.test(description);
  const stream = streamBuiltIn ? undefined : file('stream');
  const brotli = brotliBuiltIn ? undefined : file('brotli');
  return {
    path: found,
    version,
    modules: [...luaModules, stream, brotli].filter((module) => module !== undefined),
    hasLua: luaBuiltIn || lua !== undefined,
    hasStream: streamBuiltIn || stream !== undefined,
    hasBrotli: brotliBuiltIn || brotli !== undefined,
    hasStreamRealIp: /--with-stream_realip_module(?!\S)/.test(description),
    hasStreamPreread: /--with-stream_ssl_preread_module(?!\S)/.test(description),
    hasHttp2Directive: compareVersions(version, FIRST_WITH_HTTP2_DIRECTIVE) >= 0,
    warnings: compareVersions(version, FIRST_SAFE_VERSION) < 0 ? [outdated(found, version)] : [],
  };
}

function outdated(path: string, version: string): string {
  return `nginx ${version} (${path}) is older than ${FIRST_SAFE_VERSION} and open to CVE-2026-42945, unless its distribution has mended it`;
}

function candidates(): string[] {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute), '/usr/sbin', '/usr/local/sbin'];
  return [...new Set(folders)].map((folder) => join(folder, 'nginx'));
}

async function firstExecutable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  return undefined;
}

/** What `nginx -V` prints, on its standard error. */
function describe(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(path, ['-V'], { timeout: 10_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(`${stderr}\n${stdout}`);
      else reject(new NginxNotFoundError(`${path} does not run: ${firstLine(stderr || error.message)}`));
    });
  });
}

function modulesFolder(description: string): string {
  const [, folder] = /--modules-path=(\S+)/.exec(description) ?? [];
  const [, prefix = '/usr/local/nginx'] = /--prefix=(\S+)/.exec(description) ?? [];
  return folder ?? join(prefix, 'modules');
}

function compareVersions(a: string, b: string): number {
  const numbers = (version: string) => version.split('.').map(Number);
  const [left, right] = [numbers(a), numbers(b)];
  const index = left.findIndex((number, position) => number !== right[position]);
  return index === -1 ? 0 : (left[index] ?? 0) - (right[index] ?? 0);
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
