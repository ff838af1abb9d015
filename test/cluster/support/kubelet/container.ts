import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type RunningProcess, startProcess } from '../process.ts';
import type { Image } from './images.ts';

/** The part of `spec.containers[]` that is honoured. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: {
    readonly preStop?: {
      readonly sleep?: { readonly seconds: number };
      readonly exec?: { readonly command: readonly string[] };
    };
  };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string };
  readonly tcpSocket?: { readonly port: number | string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
}

export interface ContainerOptions {
  readonly spec: ContainerSpec;
  readonly image: Image;
  /** What mounts the pod's files and then runs the command line that follows it. */
  readonly wrapper: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly ip: string;
  readonly folder: string;
  /** Whether it starts anew after it has ended with 0. */
  readonly restartAlways: boolean;
  /** Ready or not, restarted: something of the status is another. */
  readonly onChange: () => void;
}

export interface Container {
  readonly ready: boolean;
  readonly restarts: number;
  readonly pid: number;
  /** Resolves when it has ended with 0 and does not start again. */
  readonly success: Promise<void>;
  start(): void;
  /** The hook and SIGTERM, `graceMs` after the beginning SIGKILL; resolves when it has ended. */
  end(graceMs: number): Promise<void>;
  kill(): void;
}

const FIRST_PROBE_MS = 50;
const PROBE_TIMEOUT_MS = 1000;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;

export function createContainer(options: ContainerOptions): Container {
  const { spec, image, wrapper, ip, folder, onChange } = options;
  const env = {
    ...options.env,
    ...(image.root !== undefined && { PATH: `${join(image.root, 'usr/local/bin')}:${process.env['PATH']}` }),
  };
  let running: RunningProcess | undefined;
  let ready = false;
  let restarts = 0;
  let ending = false;
  const timers = new Set<NodeJS.Timeout>();
  const { promise: success, resolve: succeed } = Promise.withResolvers<void>();

  const after = (ms: number, work: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };
  const clearTimers = () => {
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
  };
  const become = (value: boolean) => {
    if (ready === value || ending) return;
    ready = value;
    onChange();
  };
  const start = () => {
    if (ending) return;
    const args = (spec.args ?? []).map((arg) => expand(arg, env));
    const [program = '', ...rest] = [...wrapper, ...(spec.command ? findProgram(spec.command) : image.entrypoint)];
    const started = startProcess({ name: spec.name, program, args: [...rest, ...args], env, folder });
    running = started;
    void started.exit.then(onExit, () => onExit('SIGKILL'));
    if (spec.readinessProbe === undefined) become(true);
    else {
      const { readinessProbe } = spec;
      // The first answer is wanted soon, later ones as the manifest says.
      probe(started, readinessProbe, {
        everyMs: (yes) => (yes ? (readinessProbe.periodSeconds ?? 1) * 1000 : FIRST_PROBE_MS),
        onResult: (ok, failures) => {
          if (ok) become(true);
          else if (failures >= (readinessProbe.failureThreshold ?? 3)) become(false);
        },
      });
    }
    if (spec.livenessProbe !== undefined) {
      const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3 } = spec.livenessProbe;
      after(initialDelaySeconds * 1000, () =>
        probe(started, spec.livenessProbe!, {
          everyMs: () => periodSeconds * 1000,
          onResult: (_, failures) => {
            if (failures >= failureThreshold) started.signal('SIGKILL');
          },
        }),
      );
    }
    onChange();
  };
  const onExit = (code: number | NodeJS.Signals) => {
    clearTimers();
    if (ending) return;
    if (code === 0 && !options.restartAlways) {
      succeed();
      return;
    }
    restarts++;
    if (ready) become(false);
    else onChange();
    after(Math.min(FIRST_BACKOFF_MS * 2 ** (restarts - 1), MAX_BACKOFF_MS), start);
  };
  const probe = (of: RunningProcess, how: Probe, { everyMs, onResult }: ProbeLoop) => {
    let failures = 0;
    const ask = async () => {
      const ok = await answers(how);
      if (running !== of || !of.running()) return;
      failures = ok ? 0 : failures + 1;
      onResult(ok, failures);
      after(everyMs(ready), () => void ask());
    };
    void ask();
  };
  const answers = async ({ httpGet, tcpSocket }: Probe): Promise<boolean> => {
    const port = httpGet?.port ?? tcpSocket?.port ?? 0;
    const number = spec.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port);
    return httpGet === undefined ? await accepts(ip, number) : await answersHttp(ip, number, httpGet.path ?? '/');
  };
  /** Paths of the image are below its root. */
  const findProgram = ([program = '', ...args]: readonly string[]): string[] => {
    const own = join(image.root ?? '/', program);
    return [program.startsWith('/') && existsSync(own) ? own : program, ...args];
  };
  const runHook = async (graceMs: number) => {
    const { sleep, exec } = spec.lifecycle?.preStop ?? {};
    if (running?.running() !== true) return;
    if (sleep !== undefined) await delay(Math.min(sleep.seconds * 1000, graceMs));
    if (exec === undefined) return;
    // Where the container has its files.
    const inside = wrapper.length > 0 ? ['nsenter', '--target', String(running.pid), '--mount', '--'] : [];
    const [program = '', ...args] = [...inside, ...findProgram(exec.command)];
    const pod = { ...process.env, ...env };
    await new Promise<void>((resolve) => {
      execFile(program, args, { env: pod, timeout: graceMs }, (error) => {
        if (error) console.log(`the hook of ${spec.name}: ${error.message}`);
        resolve();
      });
    });
  };
  return {
    get ready() {
      return ready;
    },
    get restarts() {
      return restarts;
    },
    get pid() {
      return running?.pid ?? 0;
    },
    success,
    start,
    end: async (graceMs) => {
      const begin = performance.now();
      ending = true;
      clearTimers();
      await runHook(graceMs);
      await running?.stop('SIGTERM', Math.max(0, graceMs - (performance.now() - begin)));
    },
    kill: () => {
      ending = true;
      clearTimers();
      running?.signal('SIGKILL');
    },
  };
}

interface ProbeLoop {
  readonly everyMs: (ready: boolean) => number;
  /** @param failures in a row, with this one */
  readonly onResult: (ok: boolean, failures: number) => void;
}

function answersHttp(host: string, port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = httpGet({ host, port, path, agent: false, timeout: PROBE_TIMEOUT_MS }, (response) => {
      response.resume();
      resolve((response.statusCode ?? 500) < 400);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PROBE_TIMEOUT_MS }, () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });
}

/** `$(NAME)` in arguments, as Kubernetes replaces it; what is not set stays. */
function expand(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replace(/\$\((\w+)\)/g, (whole, name: string) => env[name] ?? whole);
}
