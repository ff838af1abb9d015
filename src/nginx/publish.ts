/**
 * Publish for nginx: the configuration goes to a temporary file, nginx checks it, it takes the place of the former one, and nginx
 * loads it. Whatever fails, the last good configuration stays in force and the next try follows by itself.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileContent, fileBytes } from './certificate-file.ts';
import type { NginxConfig } from './config.ts';
import type { Template } from './template.ts';

export interface NginxPublisherOptions {
  /** For the configuration and everything that it names; made with mode 0700. */
  readonly folder: string;
  /** Asked for before each try, so that an edited template takes effect. @throws TemplateError */
  readonly template: () => Template;
  /** Lets nginx check a file. Resolves with what it finds wrong, `undefined` for nothing. */
  readonly check: (file: string) => Promise<string | undefined>;
  /** Lets the running nginx load the new file; resolves at once if none runs. Rejects with the reason if it did not. */
  readonly reload: () => Promise<void>;
  readonly onOutcome: (outcome: PublishOutcome, target: NginxTarget) => void;
  readonly clock: PublishClock;
  /** Shortest time between two loads. */
  readonly minIntervalMs: number;
}

export interface PublishClock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Returns what cancels the timer. */
  after(delayMs: number, callback: () => void): () => void;
}

export type PublishOutcome =
  /** The configuration is in force. */
  | { readonly kind: 'loaded'; readonly hash: string; readonly durationMs: number }
  /** The text is as before, so nothing had to be done. */
  | { readonly kind: 'unchanged'; readonly hash: string }
  /** The former configuration stays in force; another try follows after `retryInMs`. */
  | {
      readonly kind: 'failed';
      readonly step: 'render' | 'write' | 'check' | 'reload';
      readonly reason: string;
      readonly retryInMs: number;
    };

/** What is to be in force. */
export interface NginxTarget {
  readonly config: NginxConfig;
  /** By the files in which the configuration wants them: certificates with their keys, and those of authorities. */
  readonly files: ReadonlyMap<string, FileContent>;
}

export interface NginxPublisher {
  /** The file that nginx is started with. */
  readonly configFile: string;
  /** Replaces what is to be in force; resolves when the first try with it has ended. */
  publish(target: NginxTarget): Promise<void>;
  /** Tries again at once, for instance with another template. */
  refresh(): Promise<void>;
  /** Ends what is under way and tries nothing more. */
  stop(): Promise<void>;
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

class StepFailure extends Error {
  readonly step: Extract<PublishOutcome, { kind: 'failed' }>['step'];

  constructor(step: StepFailure['step'], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.step = step;
  }
}

export function createNginxPublisher(options: NginxPublisherOptions): NginxPublisher {
  return new Publisher(options);
}

class Publisher implements NginxPublisher {
  readonly configFile: string;
  private readonly options: NginxPublisherOptions;
  private target: NginxTarget | undefined;
  /** Checksum of the configuration that nginx has; `undefined` when nobody knows. */
  private inForce: string | undefined;
  /** Text of the last configuration that nginx has loaded, with its checksum. */
  private lastGood: string | undefined;
  private lastLoadAt = Number.NEGATIVE_INFINITY;
  private retryMs = FIRST_RETRY_MS;
  private cancelTimer: (() => void) | undefined;
  private running: Promise<void> | undefined;
  /** Resolve when the try that begins next has ended. */
  private waiting: (() => void)[] = [];
  private stopped = false;

  constructor(options: NginxPublisherOptions) {
    this.options = options;
    this.configFile = join(options.folder, 'nginx.conf');
  }

  publish(target: NginxTarget): Promise<void> {
    this.target = target;
    return this.refresh();
  }

  refresh(): Promise<void> {
    if (this.stopped || this.target === undefined) return Promise.resolve();
    const ended = new Promise<void>((resolve) => this.waiting.push(resolve));
    this.schedule(Math.max(0, this.lastLoadAt + this.options.minIntervalMs - this.options.clock.now()));
    return ended;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    await this.running;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private schedule(delayMs: number): void {
    if (this.running !== undefined) return;
    this.cancelTimer?.();
    this.cancelTimer = this.options.clock.after(delayMs, () => {
      this.cancelTimer = undefined;
      this.running = this.attempt().finally(() => {
        this.running = undefined;
        // What came meanwhile.
        if (this.waiting.length > 0 && !this.stopped) void this.refreshLater();
      });
    });
  }

  private refreshLater(): void {
    this.schedule(Math.max(0, this.lastLoadAt + this.options.minIntervalMs - this.options.clock.now()));
  }

  private async attempt(): Promise<void> {
    const { target } = this;
    if (target === undefined) return;
    const waiting = this.waiting.splice(0);
    const { onOutcome, clock } = this.options;
    try {
      onOutcome(await this.load(target), target);
      this.retryMs = FIRST_RETRY_MS;
    } catch (error) {
      const { step, message: reason } = error instanceof StepFailure ? error : new StepFailure('write', error);
      const retryInMs = this.retryMs;
      this.retryMs = Math.min(MAX_RETRY_MS, this.retryMs * 2);
      if (!this.stopped) this.cancelTimer = clock.after(retryInMs, () => void this.retry());
      onOutcome({ kind: 'failed', step, reason, retryInMs }, target);
    }
    for (const resolve of waiting) resolve();
  }

  private retry(): void {
    this.cancelTimer = undefined;
    if (!this.stopped) this.schedule(0);
  }

  private async load({ config, files }: NginxTarget): Promise<PublishOutcome> {
    const { clock, template, check, reload, folder } = this.options;
    const begin = clock.now();
    const text = await step('render', async () => template().render(config));
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    if (hash === this.inForce) return { kind: 'unchanged', hash };
    const content = `# Configuration checksum: ${hash}\n${text}`;
    const draft = join(folder, `nginx.${hash}.tmp`);
    try {
      await step('write', async () => {
        await this.prepareFolder();
        await this.writeCertificates(files);
        await writeFile(draft, content, { mode: 0o600, flush: true });
      });
      const fault = await step('check', () => check(draft));
      if (fault !== undefined) throw new StepFailure('check', fault);
      await step('write', async () => {
        // Of a former life of this process.
        this.lastGood ??= await readFile(this.configFile, 'utf8').catch(() => undefined);
        await rename(draft, this.configFile);
      });
    } finally {
      await rm(draft, { force: true });
    }
    this.lastLoadAt = clock.now();
    this.inForce = undefined;
    try {
      await step('reload', reload);
    } catch (error) {
      await this.restore();
      throw error;
    }
    this.inForce = hash;
    this.lastGood = content;
    await this.removeUnused(files);
    return { kind: 'loaded', hash, durationMs: clock.now() - begin };
  }

  /** What nginx did not load must not be what it starts with, should it die. */
  private async restore(): Promise<void> {
    if (this.lastGood === undefined) return;
    const draft = join(this.options.folder, 'nginx.restored.tmp');
    await writeFile(draft, this.lastGood, { mode: 0o600, flush: true });
    await rename(draft, this.configFile);
  }

  private async prepareFolder(): Promise<void> {
    const { folder } = this.options;
    for (const name of ['certificates', 'temp']) await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
  }

  private async writeCertificates(files: ReadonlyMap<string, FileContent>): Promise<void> {
    for (const [file, content] of files) {
      const pem = fileBytes(content);
      const present = await readFile(file).catch(() => undefined);
      if (present?.equals(pem)) continue;
      await writeFile(`${file}.tmp`, pem, { mode: 0o600, flush: true });
      await rename(`${file}.tmp`, file);
    }
  }

  /** Drafts of a former life, and keys that nothing names any more. */
  private async removeUnused(files: ReadonlyMap<string, FileContent>): Promise<void> {
    const { folder } = this.options;
    for (const name of await readdir(join(folder, 'certificates'))) {
      const file = join(folder, 'certificates', name);
      if (!files.has(file)) await rm(file, { force: true });
    }
    for (const name of await readdir(folder)) {
      if (name.startsWith('nginx.') && name.endsWith('.tmp')) await rm(join(folder, name), { force: true });
    }
  }
}

async function step<T>(name: StepFailure['step'], action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof StepFailure ? error : new StepFailure(name, error);
  }
}
