/** The command `nginx` as a user starts it, with a folder of manifests and real backends. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, startCommand } from '../../support/command.ts';
import { poll } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import type { Manifest } from '../../support/manifests.ts';
import { childrenOf, eventually, isAlive } from '../../support/process/processes.ts';
import { freePorts } from '../../support/static-envoy.ts';

export interface NginxCommand {
  readonly command: Command;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Process numbers; each waits until there is one. */
  master(): Promise<number>;
  controlPlane(): Promise<number>;
  guard(): Promise<number>;
  /** Writes the file of manifests, which is followed. */
  write(...manifests: readonly Manifest[]): Promise<void>;
  /** The status of a request, or the code of the fault. */
  status(host: string): Promise<unknown>;
  /** Resolves when requests for the host are answered with this status. */
  answers(host: string, status: unknown): Promise<void>;
  /** The status of `/healthz`. */
  health(): Promise<number>;
  /** The samples of `/metrics`, by name without labels. */
  metrics(): Promise<Readonly<Record<string, number>>>;
  /** Ends everything, whatever state it is in. */
  close(): Promise<void>;
}

export async function startNginxCommand(
  manifests: readonly Manifest[],
  flags: readonly string[] = [],
): Promise<NginxCommand> {
  const folder = await mkdtemp(join(tmpdir(), 'nginx-command-'));
  const [files, temporary] = [join(folder, 'manifests'), join(folder, 'tmp')];
  for (const name of [files, temporary]) await mkdir(name);
  const write = (...all: readonly Manifest[]) =>
    writeFile(join(files, 'all.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: all }));
  await write(...manifests);
  const [httpPort = 0, httpsPort = 0, healthPort = 0] = await freePorts(3);
  const command = startCommand(
    [
      ...['nginx', '--manifests', files, '--nginx-worker-processes=2', '--sync-rate-limit=0'],
      ...[`--http-port=${httpPort}`, `--https-port=${httpsPort}`],
      ...[`--healthz-port=${healthPort}`, '--healthz-host=127.0.0.1', '-v=3', ...flags],
    ],
    { TMPDIR: temporary },
  );
  const seen = new Set<number>();
  const child = (part: string) =>
    eventually(`a child ${part} of ${command.pid}:\n${command.output()}`, () => {
      const found = childrenOf(command.pid).find((one) => one.command.includes(part) && isAlive(one.pid))?.pid;
      if (found !== undefined) seen.add(found);
      return found;
    });
  const status = (host: string): Promise<unknown> =>
    send({ port: httpPort, host }).then(
      (answer) => answer.status,
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
  return {
    command,
    httpPort,
    httpsPort,
    master: () => child('nginx: master'),
    controlPlane: () => child('nginx-control-plane'),
    guard: () => child('guard'),
    write,
    status,
    answers: async (host, wanted) => {
      let last: unknown;
      await poll(
        async () => {
          last = await status(host);
          return last === wanted;
        },
        () => `${host} is answered ${last}, not ${wanted}:\n${command.output()}`,
      );
    },
    health: async () => (await fetch(`http://127.0.0.1:${healthPort}/healthz`)).status,
    metrics: async () => {
      const text = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      return Object.fromEntries(
        lines.map((line) => [line.replace(/[{ ].*/, ''), Number(line.slice(line.lastIndexOf(' ') + 1))]),
      );
    },
    close: async () => {
      command.process.kill('SIGKILL');
      // The guard ends the others.
      await poll(
        () => ![...seen].some(isAlive),
        () => `something is left of ${[...seen].join(', ')}`,
      );
      await command.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
