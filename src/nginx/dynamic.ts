/** Changes of the running nginx that need no reload: backend addresses, certificates, and the names that they answer. */
import { createHash } from 'node:crypto';
import { type RequestOptions, request } from 'node:http';
import { deepEqual } from '../derive.ts';
import type { Address, Certificate, ServerName } from '../model/proxy-model.ts';
import { certificatePem } from './certificate-file.ts';
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
  return new Map(serverNames.map(({ name, certificate }) => [name, certificate]));
}

export interface RunTimeUpdaterOptions {
  /** The socket on which nginx listens for them. */
  readonly socketPath: string;
  /** Everything, for a nginx that has just been started or has missed something. */
  readonly state: () => RunTimeState;
  /** How often a request that fails is made again. `--dynamic-configuration-retries` */
  readonly retries: number;
  readonly delay: (ms: number) => Promise<void>;
  readonly onFailure: (reason: string) => void;
}

/** Brings what is to be in force into the running nginx, one request after another. */
export interface RunTimeUpdater {
  /** Resolves when nginx has it, or when all tries have failed. Before the first `resend` there is nobody to tell. */
  update(change: RunTimeChange): Promise<void>;
  /** Sends everything, unless nginx has it. To be called when a new master may run. */
  resend(): Promise<void>;
  /** Gives up what is under way. */
  stop(): void;
}

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;

export function createRunTimeUpdater(options: RunTimeUpdaterOptions): RunTimeUpdater {
  const { socketPath, state, retries, delay, onFailure } = options;
  /** Names what nginx has when everything has gone well: each update moves it on. */
  let checksum = '';
  let last: Promise<void> = Promise.resolve();
  let started = false;
  let stopped = false;

  async function send(change: RunTimeChange | undefined): Promise<void> {
    let whole = change === undefined || checksum === '';
    let delayMs = FIRST_DELAY_MS;
    for (let attempt = 0; attempt <= retries && !stopped; attempt++) {
      if (attempt > 0) await delay(delayMs);
      delayMs = Math.min(MAX_DELAY_MS, delayMs * 2);
      try {
        const { status, text } = await post(socketPath, encode(whole ? state() : (change as RunTimeChange), whole));
        if (status === 200) {
          checksum = text;
          return;
        }
        // Another master, or one that missed an update: it gets everything.
        if (status !== 409) throw new Error(`nginx answered ${status}: ${text}`);
        whole = true;
        attempt--;
      } catch (error) {
        if (attempt === retries) onFailure(error instanceof Error ? error.message : String(error));
      }
    }
    // Nobody knows what it has now.
    checksum = '';
  }

  function encode(change: RunTimeChange, whole: boolean): string {
    const { backends, certificates, names } = change;
    const parts = {
      backends: toObject(backends, (addresses) => addresses.map(({ ip, port }) => [peerAddress(ip), port])),
      certificates: toObject(certificates, (certificate) => certificatePem(certificate).toString('latin1')),
      names: toObject(names, (certificate) => certificate),
    };
    const next = createHash('sha256')
      .update(whole ? '' : checksum)
      .update(JSON.stringify(parts))
      .digest('hex');
    return JSON.stringify({ ...(whole ? {} : { base: checksum }), checksum: next.slice(0, 16), ...parts });
  }

  function inTurn(task: () => Promise<void>): Promise<void> {
    last = last.then(task);
    return last;
  }

  return {
    update: (change) =>
      inTurn(async () => {
        if (started) await send(change);
      }),
    resend: () =>
      inTurn(async () => {
        started = true;
        const known = await get(socketPath).catch(() => undefined);
        if (known === undefined || known === '' || known !== checksum) await send(undefined);
      }),
    stop: () => {
      stopped = true;
    },
  };
}

function toObject<V>(map: ReadonlyMap<string, V | undefined>, item: (value: V) => unknown): Record<string, unknown> {
  return Object.fromEntries([...map].map(([key, value]) => [key, value === undefined ? null : item(value)]));
}

/** nginx takes IPv6 addresses in brackets. */
function peerAddress(ip: string): string {
  return ip.includes(':') ? `[${ip}]` : ip;
}

function post(socketPath: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  return call(
    { socketPath, method: 'POST', path: '/update', headers: { 'content-length': Buffer.byteLength(body) } },
    body,
  );
}

async function get(socketPath: string): Promise<string> {
  const { status, text } = await call({ socketPath, method: 'GET', path: '/checksum' });
  if (status !== 200) throw new Error(`nginx answered ${status}`);
  return text;
}

function call(options: RequestOptions, body?: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    // Each of its own connection: one that is kept would end with the worker that it leads to.
    const outgoing = request({ ...options, agent: false, timeout: REQUEST_TIMEOUT_MS }, (response) => {
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
