import { get as httpGet } from 'node:http';
import { type RunningProcess, startProcess } from '../process.ts';

/** The part of `spec.containers[]` that is honoured. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: {
    readonly httpGet?: { readonly path?: string; readonly port: number | string };
    readonly periodSeconds?: number;
    readonly failureThreshold?: number;
  };
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
}

export interface ContainerOptions {
  readonly spec: ContainerSpec;
  /** The program and its arguments; what runs the pod's files under it comes first. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly ip: string;
  readonly folder: string;
  /** Ready or not, restarted: something of the status is another. */
  readonly onChange: () => void;
}

export interface Container {
  readonly ready: boolean;
  readonly restarts: number;
  readonly pid: number;
  start(): void;
  /** SIGTERM, after `graceMs` SIGKILL; resolves when it has ended. */
  end(graceMs: number): Promise<void>;
  kill(): void;
}

const FIRST_PROBE_MS = 50;
const PROBE_TIMEOUT_MS = 1000;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;

export function createContainer({ spec, command, env, ip, folder, onChange }: ContainerOptions): Container {
  let process: RunningProcess | undefined;
  let ready = false;
  let restarts = 0;
  let ending = false;
  let timer: NodeJS.Timeout | undefined;

  const become = (value: boolean) => {
    if (ready === value || ending) return;
    ready = value;
    onChange();
  };
  const start = () => {
    if (ending) return;
    const [program = '', ...args] = [...command, ...(spec.args ?? []).map((arg) => expand(arg, env))];
    const started = startProcess({ name: spec.name, program, args, env, folder });
    process = started;
    void started.exit.then(() => onExit(), onExit);
    if (spec.readinessProbe?.httpGet === undefined) become(true);
    else void probe(started, 0);
    onChange();
  };
  const onExit = () => {
    clearTimeout(timer);
    if (ending) return;
    restarts++;
    if (ready) become(false);
    else onChange();
    timer = setTimeout(start, Math.min(FIRST_BACKOFF_MS * 2 ** (restarts - 1), MAX_BACKOFF_MS));
  };
  const probe = async (of: RunningProcess, failures: number) => {
    const { path = '/', port = 0 } = spec.readinessProbe?.httpGet ?? {};
    const number = spec.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port);
    const ok = await answers(ip, number, path);
    if (process !== of || !of.running()) return;
    const failed = ok ? 0 : failures + 1;
    if (ok) become(true);
    else if (failed >= (spec.readinessProbe?.failureThreshold ?? 3)) become(false);
    // The first answer is wanted soon, later ones as the manifest says.
    const periodMs = (spec.readinessProbe?.periodSeconds ?? 1) * 1000;
    timer = setTimeout(() => void probe(of, failed), ready ? periodMs : FIRST_PROBE_MS);
  };
  return {
    get ready() {
      return ready;
    },
    get restarts() {
      return restarts;
    },
    get pid() {
      return process?.pid ?? 0;
    },
    start,
    end: async (graceMs) => {
      ending = true;
      clearTimeout(timer);
      await process?.stop('SIGTERM', graceMs);
    },
    kill: () => {
      ending = true;
      clearTimeout(timer);
      process?.signal('SIGKILL');
    },
  };
}

function answers(host: string, port: number, path: string): Promise<boolean> {
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

/** `$(NAME)` in arguments, as Kubernetes replaces it; what is not set stays. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\((\w+)\)/g, (whole, name: string) => env[name] ?? whole);
}
