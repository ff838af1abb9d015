/** Changes of the running nginx that need no reload: backend addresses, certificates, and the names that they answer. */
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { deepEqual } from '../derive.ts';
import type { Address, Certificate, ServerName } from '../model/proxy-model.ts';
import { runTimePem } from './certificate-file.ts';
import type { NginxConfig } from './config.ts';

/** What a change changes; `undefined` removes. */
export interface RunTimeChange {
  /** By name of the upstream. */
  readonly backends: ReadonlyMap<string, readonly Address[] | undefined>;
  readonly certificates: ReadonlyMap<string, Certificate | undefined>;
  /** By server name: the name of its certificate. */
  readonly names: ReadonlyMap<string, string | undefined>;
}

/** Everything that is to be in force. */
export type RunTimeState = { readonly [K in keyof RunTimeChange]: RunTimeChange[K] };

/** Whether nginx can go from one configuration to the other without loading a file. */
export function isDynamicConfigurationEnough(before: NginxConfig | undefined, after: NginxConfig): boolean {
  return before !== undefined && deepEqual(before, after);
}

export function serverNamesByName(serverNames: readonly ServerName[]): Map<string, string> {
  return new Map(
    serverNames.flatMap((target) => ('certificate' in target ? [[target.name, target.certificate] as const] : [])),
  );
}

/** Both changes in one; of two values for a key the later one counts. */
export function mergeChanges(first: RunTimeChange, later: RunTimeChange): RunTimeChange {
  return {
    backends: new Map([...first.backends, ...later.backends]),
    certificates: new Map([...first.certificates, ...later.certificates]),
    names: new Map([...first.names, ...later.names]),
  };
}

export const NO_CHANGE: RunTimeChange = { backends: new Map(), certificates: new Map(), names: new Map() };

/** Where nginx listens for changes at run time. */
export function configurationSocket(folder: string): string {
  return `${folder}/configuration.sock`;
}

export interface RunTimeUpdaterOptions {
  /** The socket on which nginx listens for them. */
  readonly socketPath: string;
  /** Everything, for a nginx that has just been started or has missed something. */
  readonly state: () => RunTimeState;
  /** How often a request that fails is made again before that is told. `--dynamic-configuration-retries` */
  readonly retries: number;
  readonly delay: (ms: number) => Promise<void>;
  /** Whether there is a nginx already, of a former life of this process. */
  readonly isRunning: () => Promise<boolean>;
  readonly onFailure: (reason: string) => void;
  /** Nginx has everything that it was to get. */
  readonly onSynced: () => void;
  /** How long nginx may take to answer. Default: 10 s. */
  readonly requestTimeoutMs?: number;
}

/** Brings what is to be in force into the running nginx, one request after another. */
export interface RunTimeUpdater {
  /**
   * Resolves when nginx has it or the first try has failed; others follow until one succeeds. While there has been no
   * nginx yet there is nobody to tell.
   */
  update(change: RunTimeChange): Promise<void>;
  /** Sends everything. To be called when a new master runs. */
  resend(): Promise<void>;
  /** Whether nginx has everything. */
  readonly synced: boolean;
  /** Gives up what is under way. */
  stop(): void;
}

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;

export function createRunTimeUpdater(options: RunTimeUpdaterOptions): RunTimeUpdater {
  return new Updater(options);
}

class Updater implements RunTimeUpdater {
  private readonly options: RunTimeUpdaterOptions;
  /** Names what nginx has when everything has gone well: each update moves it on. */
  private checksum = '';
  /** What nginx has not got yet, beyond what the checksum names. */
  private missing = NO_CHANGE;
  /** Nobody knows what nginx has: it gets everything. */
  private needsAll = true;
  private waiting: (() => void)[] = [];
  /** Whether there was a nginx at the first change. */
  private runs: Promise<boolean> | undefined;
  private started = false;
  private running = false;
  private stopped = false;

  constructor(options: RunTimeUpdaterOptions) {
    this.options = options;
  }

  get synced(): boolean {
    return this.started && !this.running;
  }

  async update(change: RunTimeChange): Promise<void> {
    if (!this.started) {
      this.runs ??= this.options.isRunning();
      if (await this.runs) this.started = true;
      if (!this.started) return;
    }
    this.missing = mergeChanges(this.missing, change);
    await this.next();
  }

  async resend(): Promise<void> {
    this.started = true;
    this.needsAll = true;
    await this.next();
  }

  stop(): void {
    this.stopped = true;
    this.answer();
  }

  private next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.push(resolve);
    if (!this.running) void this.run();
    return promise;
  }

  private answer(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Until nginx has everything, however long that takes. */
  private async run(): Promise<void> {
    this.running = true;
    const { retries, delay, onFailure, onSynced } = this.options;
    let failures = 0;
    while (!this.stopped && (this.needsAll || this.missing !== NO_CHANGE)) {
      try {
        await this.send();
        failures = 0;
      } catch (error) {
        // It may have got it, or a part of it, nevertheless.
        this.needsAll = true;
        if (failures++ === retries) onFailure(error instanceof Error ? error.message : String(error));
        this.answer();
        await delay(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)));
      }
    }
    this.running = false;
    this.answer();
    if (!this.stopped) onSynced();
  }

  private async send(): Promise<void> {
    const { socketPath, state, requestTimeoutMs = REQUEST_TIMEOUT_MS } = this.options;
    const all = this.needsAll;
    const body = encode(all ? state() : this.missing, all ? undefined : this.checksum);
    this.needsAll = false;
    this.missing = NO_CHANGE;
    const { status, text } = await post(socketPath, body, requestTimeoutMs);
    if (status === 200) this.checksum = text;
    // Another master, or one that missed an update: it gets everything.
    else if (status === 409 && !all) this.needsAll = true;
    else throw new Error(`nginx answered ${status}: ${text}`);
  }
}

/** @param base names what the change is a change of; `undefined` where it is everything. */
function encode({ backends, certificates, names }: RunTimeChange, base: string | undefined): string {
  const parts = {
    backends: toObject(backends, (addresses) => addresses.map(({ ip, port }) => [peerAddress(ip), port])),
    certificates: toObject(certificates, runTimePem),
    names: toObject(names, (certificate) => certificate),
  };
  const checksum = createHash('sha256')
    .update(base ?? '')
    .update(JSON.stringify(parts))
    .digest('hex')
    .slice(0, 16);
  return JSON.stringify({ base, checksum, ...parts });
}

function toObject<V>(map: ReadonlyMap<string, V | undefined>, item: (value: V) => unknown): Record<string, unknown> {
  return Object.fromEntries([...map].map(([key, value]) => [key, value === undefined ? null : item(value)]));
}

/** nginx takes IPv6 addresses in brackets. */
function peerAddress(ip: string): string {
  return ip.includes(':') ? `[${ip}]` : ip;
}

function post(socketPath: string, body: string, timeoutMs: number): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-length': Buffer.byteLength(body) };
    // Each of its own connection: one that is kept would end with the worker that it leads to.
    const options = { socketPath, method: 'POST', path: '/update', headers, agent: false, timeout: timeoutMs };
    const outgoing = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('nginx does not answer')));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
