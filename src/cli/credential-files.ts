import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { CredentialSource, TlsCredentials } from '../xds/tls-listener.ts';

/** Paths of three PEM files. */
export interface CredentialPaths {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}

export interface CredentialFiles extends CredentialSource {
  close(): void;
}

export interface CredentialFilesOptions {
  /** Called when other credentials are in use. */
  onRenewed(description: string): void;
  /** Called when the files changed to something that cannot be used, once for each reason; what was in use stays so. */
  onProblem(message: string): void;
  /** Called once for a certificate that ought to have been renewed by now. */
  onExpiring(message: string): void;
}

/** A change of several files is one change; most are over by then. */
const SETTLE_MS = 200;
/** How long files that do not fit together may be in the middle of a change. */
const RETRY_MS = 1000;
/** The part of its life that a certificate has left when whoever renews it is late. */
const LATE = 0.1;
/** For changes that the system does not tell. */
const POLL_MS = 30_000;

/**
 * Reads the files, and again whenever they change: replaced, written in place, or behind a symbolic link that now leads elsewhere,
 * as in a volume of a Kubernetes Secret.
 * @throws Error that names the file and the reason when they cannot be used now.
 */
export async function openCredentialFiles(
  paths: CredentialPaths,
  options: CredentialFilesOptions,
): Promise<CredentialFiles> {
  const watched = new WatchedCredentials(paths, await readCredentials(paths), options);
  watched.start();
  return watched;
}

class WatchedCredentials implements CredentialFiles {
  current: TlsCredentials;
  private readonly paths: CredentialPaths;
  private readonly options: CredentialFilesOptions;
  private readonly listeners = new Set<(credentials: TlsCredentials) => void>();
  private watchers: FSWatcher[] = [];
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  private reading = false;
  private closed = false;
  private failing = false;
  private lastProblem: string | undefined;
  private lastExpiring: TlsCredentials | undefined;

  constructor(paths: CredentialPaths, current: TlsCredentials, options: CredentialFilesOptions) {
    this.paths = paths;
    this.current = current;
    this.options = options;
  }

  start(): void {
    this.watchFolders();
    this.schedule(POLL_MS);
  }

  /** Anew before each look: a folder that was replaced is not the one that was watched. */
  private watchFolders(): void {
    for (const watcher of this.watchers.splice(0)) watcher.close();
    for (const folder of new Set(Object.values(this.paths).map((path) => dirname(resolve(path))))) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.schedule(SETTLE_MS));
        watcher.on('error', () => watcher.close());
        this.watchers.push(watcher);
      } catch {
        // Then the files are looked at now and then.
      }
    }
  }

  subscribe(listener: (credentials: TlsCredentials) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    for (const watcher of this.watchers.splice(0)) watcher.close();
  }

  private schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (this.closed || at >= this.dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = at;
    this.timer = setTimeout(() => void this.look(), delayMs).unref();
  }

  private async look(): Promise<void> {
    this.dueAt = Number.POSITIVE_INFINITY;
    if (this.reading) {
      this.schedule(SETTLE_MS);
      return;
    }
    this.reading = true;
    this.watchFolders();
    await this.reload();
    this.reading = false;
    this.warnOfExpiry();
    this.schedule(this.failing ? RETRY_MS : POLL_MS);
  }

  private async reload(): Promise<void> {
    try {
      const renewed = await readCredentials(this.paths);
      this.failing = false;
      this.lastProblem = undefined;
      if (this.closed || sameCredentials(renewed, this.current)) return;
      this.current = renewed;
      for (const listener of this.listeners) listener(renewed);
      this.options.onRenewed(`certificate ${describeCertificate(renewed)}`);
    } catch (error) {
      // At first the change may not be complete; what stays wrong is told.
      const problem = (error as Error).message;
      const isNews = this.failing && problem !== this.lastProblem;
      this.failing = true;
      if (!isNews || this.closed) return;
      this.lastProblem = problem;
      this.options.onProblem(problem);
    }
  }

  private warnOfExpiry(): void {
    const { current, lastExpiring, closed, paths, options } = this;
    if (closed || current === lastExpiring) return;
    const { validFromDate, validToDate } = new X509Certificate(current.certificate);
    const life = validToDate.getTime() - validFromDate.getTime();
    if (validToDate.getTime() - Date.now() > life * LATE) return;
    this.lastExpiring = current;
    options.onExpiring(
      `${paths.certificate}: the certificate has not been renewed and expires on ${validToDate.toISOString()}`,
    );
  }
}

/** `CN=… until 2027-01-01`, for people. */
export function describeCertificate({ certificate }: TlsCredentials): string {
  const { subject = '', validToDate } = new X509Certificate(certificate);
  return `${subject.replaceAll('\n', ', ')} until ${validToDate.toISOString().slice(0, 10)}`;
}

/**
 * Reads the three files as they are at one moment and checks that they can be used together.
 * @throws Error that names the file and the reason.
 */
export async function readCredentials(paths: CredentialPaths): Promise<TlsCredentials> {
  let files = await readAll(paths);
  // Read until nothing has changed in between: a key goes with the certificate that was there at the same time.
  for (let attempt = 0; attempt < 5; attempt++) {
    const again = await readAll(paths);
    const isStable = again.every((bytes, index) => bytes.equals(files[index]!));
    files = again;
    if (isStable) break;
  }
  const [certificate, key, ca] = files as [Buffer, Buffer, Buffer];
  checkPair(paths, certificate, key);
  const authorities = parseAuthorities(paths.ca, ca);
  const credentials = { certificate, key, ca: authorities };
  try {
    createSecureContext({ cert: certificate, key, ca: authorities });
  } catch (error) {
    throw new Error(`${paths.certificate}: it cannot be used: ${(error as Error).message}`);
  }
  return credentials;
}

async function readAll({ certificate, key, ca }: CredentialPaths): Promise<Buffer[]> {
  const files: Buffer[] = [];
  for (const path of [certificate, key, ca]) {
    try {
      files.push(await readFile(path));
    } catch (error) {
      throw new Error(`${path}: cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
    }
  }
  return files;
}

function checkPair(paths: CredentialPaths, certificatePem: Buffer, keyPem: Buffer): void {
  const certificate = parse(paths.certificate, 'a PEM certificate', () => new X509Certificate(certificatePem));
  const key = parse(paths.key, 'a PEM private key without a passphrase', () => createPrivateKey(keyPem));
  if (!certificate.checkPrivateKey(key)) throw new Error(`${paths.key}: is not the key of ${paths.certificate}`);
  const reason = whyInvalid(certificate);
  if (reason !== undefined) throw new Error(`${paths.certificate}: the certificate ${reason}`);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** One PEM each. Those that have expired count for nothing, so they do no harm beside others. */
function parseAuthorities(path: string, bytes: Buffer): string[] {
  const blocks = bytes.toString('latin1').match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error(`${path}: holds no PEM certificate`);
  const reasons = blocks.map((pem) => {
    const certificate = parse(path, 'a list of PEM certificates', () => new X509Certificate(pem));
    if (!certificate.ca) throw new Error(`${path}: ${certificate.subject} is not a certificate authority`);
    return whyInvalid(certificate);
  });
  if (reasons.every((reason) => reason !== undefined)) throw new Error(`${path}: the certificate ${reasons[0]}`);
  return blocks;
}

function whyInvalid({ validFromDate, validToDate }: X509Certificate): string | undefined {
  if (validToDate.getTime() <= Date.now()) return `has expired on ${validToDate.toISOString()}`;
  return validFromDate.getTime() > Date.now() ? `is not valid before ${validFromDate.toISOString()}` : undefined;
}

function parse<T>(path: string, what: string, read: () => T): T {
  try {
    return read();
  } catch {
    // The error of OpenSSL says less, and it must not quote the file.
    throw new Error(`${path}: is not ${what}`);
  }
}

function sameCredentials(a: TlsCredentials, b: TlsCredentials): boolean {
  const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.from(one).equals(other);
  return isSame(a.certificate, b.certificate) && isSame(a.key, b.key) && a.ca.join() === b.ca.join();
}
