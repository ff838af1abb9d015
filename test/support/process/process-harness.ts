import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ParentMainOptions } from './parent-main.ts';
import { childrenOf, eventually, isAlive } from './processes.ts';

/** A backend whose answers to `/slow` begin at once and end when the test says so. */
export interface Backend {
  readonly port: number;
  finishSlow(): void;
  close(): void;
}

export async function startBackend(): Promise<Backend> {
  const slow = Promise.withResolvers<void>();
  const server: Server = createServer(async ({ url }, response) => {
    response.write('begin ');
    if (url === '/slow') await slow.promise;
    response.end('end');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    finishSlow: slow.resolve,
    close: () => {
      slow.resolve();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The parent as a process of its own. */
export interface RunningParent {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly port: number;
  /** Everything that it and its control plane have printed. */
  readonly lines: readonly string[];
  /** Resolves with the exit code, or the signal. */
  readonly exit: Promise<number | NodeJS.Signals>;
  waitForLine(part: string): Promise<string>;
  /** What Ctrl-C does at a terminal: SIGINT to everything in the process group. */
  pressCtrlC(): void;
  /** Process numbers of its children; waits until one is there. */
  envoy(): Promise<number>;
  controlPlane(): Promise<number>;
  guard(): Promise<number>;
  /** The folders that it and others have left in its place for them. */
  runtimeFolders(): Promise<string[]>;
  /** Waits until a request is answered through Envoy. */
  serving(): Promise<void>;
  close(): Promise<void>;
}

export type ParentSettings = Omit<ParentMainOptions, 'listenPort' | 'runtimeDir'> & { readonly listenPort?: number };

export async function startParent(settings: ParentSettings): Promise<RunningParent> {
  const runtimeDir = await mkdtemp(join(tmpdir(), 'process-test-'));
  const listenPort = settings.listenPort ?? (await freePort());
  const options: ParentMainOptions = { ...settings, listenPort, runtimeDir };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'parent-main.ts'), JSON.stringify(options)], {
    // A process group of its own, as a shell gives to what it starts at a terminal.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid!;
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const seen = new Set<number>();
  const childWith = (part: string) =>
    eventually(`a child ${part} of ${pid}`, () => {
      const found = childrenOf(pid).find(({ command, pid }) => command.includes(part) && isAlive(pid))?.pid;
      if (found !== undefined) seen.add(found);
      return found;
    });
  return {
    process: child,
    pid,
    port: listenPort,
    lines,
    exit,
    waitForLine: (part) => eventually(`a line with "${part}"`, () => lines.find((line) => line.includes(part))),
    pressCtrlC: () => process.kill(-pid, 'SIGINT'),
    envoy: () => childWith('--disable-hot-restart'),
    controlPlane: () => childWith('control-plane-stub'),
    guard: () => childWith('/bin/sh'),
    runtimeFolders: () => readdir(runtimeDir),
    serving: async () => {
      await eventually('an answer', () =>
        fetchOnce(listenPort).then(
          ({ body }) => body === 'begin end',
          () => false,
        ),
      );
    },
    close: async () => {
      for (const { pid: left } of childrenOf(pid)) seen.add(left);
      child.kill('SIGKILL');
      for (const left of seen) if (isAlive(left)) process.kill(left, 'SIGKILL');
      await exit;
      await rm(runtimeDir, { recursive: true });
    },
  };
}

export interface Answer {
  readonly connection: string | undefined;
  readonly body: string;
}

/** One request over a connection of its own that could be kept alive. */
export async function fetchOnce(port: number, path = '/'): Promise<Answer> {
  const response = await open(port, path);
  return { connection: response.headers.connection, body: await readBody(response) };
}

/** Sends a request and resolves with the head of the answer. */
export async function open(port: number, path: string): Promise<IncomingMessage> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request({ port, path, host: '127.0.0.1', agent }, resolve);
  outgoing.on('error', reject);
  outgoing.end();
  const response = await promise;
  response.on('close', () => agent.destroy());
  return response;
}

export async function readBody(response: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return body;
}

export async function freePort(): Promise<number> {
  const server = createNetServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
