/** The updater, against a server that answers as a test wants. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRunTimeUpdater, NO_CHANGE, type RunTimeChange, type RunTimeUpdater } from './dynamic.ts';

interface Update {
  readonly base?: string;
  readonly checksum: string;
  readonly backends: Readonly<Record<string, unknown>>;
}

let folder: string;
let server: Server;
let updater: RunTimeUpdater;
/** Everything that was sent. */
let updates: Update[];
/** The next answers; when there are none, as nginx answers. */
let faults: (number | 'silence' | 'end')[];
let checksum: string;
let delays: number[];
let failures: string[];
let synced: number;
let isRunning: boolean;
const state = { ...NO_CHANGE, backends: new Map([['all', [{ ip: '10.0.0.1', port: 80 }]]]) };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'updater-'));
  [updates, faults, delays, failures] = [[], [], [], []];
  [checksum, synced, isRunning] = ['', 0, false];
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const update = JSON.parse(text) as Update;
      updates.push(update);
      const fault = faults.shift();
      if (fault === 'silence') return;
      if (fault === 'end') request.socket.destroy();
      else if (fault !== undefined) response.writeHead(fault).end('no');
      else if (update.base !== undefined && update.base !== checksum) response.writeHead(409).end(checksum);
      else {
        checksum = update.checksum;
        response.end(checksum);
      }
    });
  });
  const socketPath = join(folder, 'socket');
  server.listen(socketPath);
  await once(server, 'listening');
  updater = createRunTimeUpdater({
    socketPath,
    state: () => state,
    retries: 2,
    delay: async (ms) => void delays.push(ms),
    isRunning: async () => isRunning,
    onFailure: (reason) => failures.push(reason),
    onSynced: () => synced++,
    requestTimeoutMs: 500,
  });
});
afterEach(async () => {
  updater.stop();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

function backend(name: string, ...ports: readonly number[]): RunTimeChange {
  const addresses = ports.map((port) => ({ ip: '::1', port }));
  return { ...NO_CHANGE, backends: new Map([[name, ports.length === 0 ? undefined : addresses]]) };
}

/** What was sent: `all`, or the names of backends. */
function sent(): string[] {
  return updates.map(({ base, backends }) => (base === undefined ? 'all' : Object.keys(backends).join(' ')));
}

/** Until the updater has nothing more to do. */
async function quiet(): Promise<void> {
  while (!updater.synced) await new Promise((resolve) => setImmediate(resolve));
}

it('tells nobody anything before there is an nginx, and then everything', async () => {
  await updater.update(backend('a', 1));
  expect(updates).toEqual([]);
  expect(updater.synced).toBe(false);
  await updater.resend();
  expect(sent()).toEqual(['all']);
  expect(updater.synced).toBe(true);
});

it('tells everything to an nginx that is there already', async () => {
  isRunning = true;
  await updater.update(backend('a', 1));
  expect(sent()).toEqual(['all']);
});

it('sends changes as what they change, and what waits for an answer as one', async () => {
  await updater.resend();
  await Promise.all([updater.update(backend('a', 1)), updater.update(backend('b', 2)), updater.update(backend('b'))]);
  expect(sent()).toEqual(['all', 'a', 'b']);
  expect(updates.map(({ backends }) => backends)).toEqual([
    { all: [['10.0.0.1', 80]] },
    { a: [['[::1]', 1]] },
    { b: null },
  ]);
  expect(updates.map(({ base }) => base)).toEqual([undefined, updates[0]!.checksum, updates[1]!.checksum]);
});

it('sends everything to an nginx that has something else', async () => {
  await updater.resend();
  checksum = 'of another life';
  await updater.update(backend('a', 1));
  expect(sent()).toEqual(['all', 'a', 'all']);
  expect(delays).toEqual([]);
});

it.each([[500], ['silence'], ['end']] as const)('tries again after %s, with everything', async (fault) => {
  await updater.resend();
  faults = [fault, fault];
  await updater.update(backend('a', 1));
  await quiet();
  expect(sent()).toEqual(['all', 'a', 'all', 'all']);
  expect(delays).toEqual([50, 100]);
  expect(failures).toEqual([]);
  expect(synced).toBe(2);
});

it('tells when all tries have failed, once, and goes on trying', async () => {
  await updater.resend();
  faults = [507, 507, 507, 507, 507, 507, 507, 507, 507];
  await updater.update(backend('a', 1));
  await quiet();
  expect(failures).toEqual(['nginx answered 507: no']);
  expect(updates).toHaveLength(11);
  expect(Math.max(...delays)).toBe(5_000);
  faults = [507, 507, 507];
  await updater.update(backend('a', 2));
  await quiet();
  expect(failures).toHaveLength(2);
});

it('lets nobody wait for more than the first try', async () => {
  await updater.resend();
  faults = Array.from({ length: 100 }, () => 500);
  await updater.update(backend('a', 1));
  expect(updates).toHaveLength(2);
});

it('ends when it is told to', async () => {
  await updater.resend();
  faults = Array.from({ length: 1_000 }, () => 500);
  await updater.update(backend('a', 1));
  updater.stop();
  await quiet();
  expect(updates.length).toBeLessThan(10);
});
