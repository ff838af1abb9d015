/** The running nginx as its control plane sees it: checking files, loading them, and knowing whether it did. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { escapeRegex } from './quote.ts';

export interface NginxMaster {
  /** Lets nginx read a configuration. Resolves with what it finds wrong, `undefined` for nothing. */
  check(file: string): Promise<string | undefined>;
  /** A master has been started: it runs in a moment, and may have read a configuration that is replaced meanwhile. */
  expect(): void;
  /** Resolves when the master that was expected runs. Rejects if it does not come in time. */
  running(): Promise<void>;
  /**
   * Lets nginx load its configuration, and waits until new workers serve it and the former ones take no connections any more.
   * Nothing happens if none runs and none is expected. Rejects with the reason when they do not come.
   */
  reload(): Promise<void>;
  /** The master's process number; `undefined` when none runs. */
  pid(): Promise<number | undefined>;
}

export interface NginxMasterOptions {
  readonly nginxPath: string;
  /** Where its process number is kept. */
  readonly folder: string;
  /** How long a master, or new workers, may take. Default: 10 s. */
  readonly reloadTimeoutMs?: number;
}

const CHECK_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

export function createNginxMaster(options: NginxMasterOptions): NginxMaster {
  const { nginxPath, folder, reloadTimeoutMs = 10_000 } = options;

  async function pid(): Promise<number | undefined> {
    const text = await readFile(join(folder, 'nginx.pid'), 'utf8').catch(() => '');
    const number = Number(text.trim());
    if (!Number.isInteger(number) || number <= 0) return undefined;
    // The file outlives a master that was killed, and its number may be another process's by now.
    return (await commandOf(number)).includes('nginx: master process') ? number : undefined;
  }

  /** Whether a master has been started that was not seen to run. */
  let expected = false;

  async function running(): Promise<number> {
    const master = await until(reloadTimeoutMs, async () => {
      const found = await pid();
      return found !== undefined && (await workersOf(found)).length > 0 ? found : undefined;
    });
    if (master === undefined) throw new Error(`nginx has not started within ${reloadTimeoutMs / 1_000} s`);
    expected = false;
    return master;
  }

  return {
    pid,
    check: (file) => checkFile(nginxPath, file),
    expect: () => {
      expected = true;
    },
    running: async () => {
      await running();
    },
    reload: async () => {
      if (!expected && (await pid()) === undefined) return;
      const master = await running();
      const before = new Set(await workersOf(master));
      let replaced = false;
      process.kill(master, 'SIGHUP');
      const outcome = await until(reloadTimeoutMs, async () => {
        const now = await workersOf(master);
        if (now.length === 0 && (await pid()) !== master) return 'ended';
        replaced = now.some((worker) => !before.has(worker));
        return replaced && !now.some((worker) => before.has(worker)) ? 'loaded' : undefined;
      });
      if (outcome === 'ended') throw new Error('nginx ended while it loaded the configuration');
      // A worker that is busy for so long does not stand for the others.
      if (outcome === 'loaded' || replaced) return;
      throw new Error(
        `nginx (process ${master}) has started no new workers within ${reloadTimeoutMs / 1_000} s; its log may say why`,
      );
    },
  };
}

/** Asks until there is an answer, or the time is over. */
async function until<T>(timeoutMs: number, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await delay(POLL_MS);
  }
  return undefined;
}

function checkFile(nginxPath: string, file: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    // Without `-e` it would complain about the log file that it was built for. It opens the access log, and a pipe of this process
    // cannot be opened as a file.
    const args = ['-t', '-q', '-e', 'stderr', '-c', file];
    const child = spawn(nginxPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: CHECK_TIMEOUT_MS });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined);
      else if (signal !== null) reject(new Error(`nginx -t was ended by ${signal}`));
      else resolve(faultsIn(stderr, file));
    });
  });
}

/** `nginx: [emerg] unknown directive "x" in FILE:12` → `unknown directive "x" in line 12` */
function faultsIn(stderr: string, file: string): string {
  const lines = stderr.split('\n').filter((line) => /\[(emerg|alert|crit|error)\]/.test(line));
  const messages = lines.map((line) =>
    line
      .replace(/^.*?\[\w+\]\s*(?:\d+#\d+:\s*)?/, '')
      .replaceAll(new RegExp(` in ${escapeRegex(file)}:(\\d+)`, 'g'), ' in line $1'),
  );
  return messages.length > 0 ? messages.join('; ') : stderr.trim() || 'nginx refuses it without a word';
}

/** Process numbers of the workers that take new connections. */
async function workersOf(master: number): Promise<number[]> {
  const children = await readFile(`/proc/${master}/task/${master}/children`, 'utf8').catch(() => '');
  const pids = children
    .trim()
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
  const workers: number[] = [];
  for (const pid of pids) {
    const command = await commandOf(pid);
    if (command.includes('worker process') && !command.includes('shutting down')) workers.push(pid);
  }
  return workers;
}

async function commandOf(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}
