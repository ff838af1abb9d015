/** The probe and its backend in a child process (see `process/probe-main.ts`): for loads that a busy test process could not send. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Address } from '../../src/model/proxy-model.ts';
import type { Probe, ProbeOptions, ProbeReport } from './probe.ts';
import type { ProbeCommand, ProbeMessage } from './process/probe-main.ts';

export interface ProbeProcess {
  /** Answers every request with 200 and echoes WebSocket frames. */
  readonly backend: Address;
  /** One load for each of the options, reported as one. Once only. */
  start(probes: readonly ProbeOptions[]): Promise<Probe>;
  /** Ends the process, the load and the backend. */
  close(): Promise<void>;
}

const DEADLINE_MS = 60_000;

export async function startProbeProcess(): Promise<ProbeProcess> {
  const child = fork(join(import.meta.dirname, 'process/probe-main.ts'), { execArgv: [] });
  const { backend } = await next(child, 'listening');
  const ask = <K extends ProbeMessage['kind']>(command: ProbeCommand, kind: K) => {
    const answer = next(child, kind);
    child.send(command);
    return answer;
  };
  return {
    backend,
    start: async (probes) => {
      let requests = 0;
      child.on('message', (message: ProbeMessage) => {
        if (message.kind === 'sent') requests = message.requests;
      });
      await ask({ kind: 'start', probes }, 'started');
      return {
        sent: () => {
          if (!isAlive(child)) throw new Error('the process of the probe has ended');
          return requests;
        },
        stop: async () => sum((await ask({ kind: 'stop' }, 'report')).reports),
      };
    },
    close: async () => {
      if (!isAlive(child)) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

type MessageOf<K extends ProbeMessage['kind']> = Extract<ProbeMessage, { readonly kind: K }>;

function next<K extends ProbeMessage['kind']>(child: ChildProcess, kind: K): Promise<MessageOf<K>> {
  const { promise, resolve, reject } = Promise.withResolvers<MessageOf<K>>();
  const onMessage = (message: ProbeMessage) => {
    if (message.kind === kind) resolve(message as MessageOf<K>);
  };
  const onExit = (code: number | null) => reject(new Error(`the process of the probe has ended with ${code}`));
  const timer = setTimeout(() => reject(new Error(`no ${kind} within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  child.on('message', onMessage).once('exit', onExit);
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('message', onMessage).off('exit', onExit);
  });
}

function sum(reports: readonly ProbeReport[]): ProbeReport {
  return {
    requests: reports.reduce((total, { requests }) => total + requests, 0),
    failures: reports.flatMap(({ failures }) => failures),
    closed: reports.flatMap(({ closed }) => closed),
    messages: Math.min(...reports.map(({ messages }) => messages)),
    seconds: Math.max(...reports.map(({ seconds }) => seconds)),
  };
}
