/** The certificate of the webhook: two files that are renewed under the running process. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

export interface PairFiles {
  /** PEM; the certificate of the server first, then those between it and the authority. */
  readonly certificatePath: string;
  /** PEM */
  readonly keyPath: string;
}

export interface ServerPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** @throws Error that names the file, if the pair cannot be read or is not one; it never shows the key. */
export async function readServerPair(files: PairFiles): Promise<ServerPair> {
  const pair = await readBytes(files);
  checkPair(pair, files);
  return pair;
}

/**
 * Looks at the files every `intervalMs` and tells each new pair. One that is not usable is told as a fault, once, and not as a pair; it
 * may be half written. Contents are compared: times and identities of files say too little about mounted Secrets.
 */
export function followServerPair(
  files: PairFiles,
  initial: ServerPair,
  { intervalMs, onPair, onFault }: FollowOptions,
): { stop(): void } {
  let last = initial;
  let lastFault: string | undefined;
  let stopped = false;
  const look = async () => {
    try {
      const pair = await readBytes(files);
      lastFault = undefined;
      if (stopped || (pair.cert.equals(last.cert) && pair.key.equals(last.key))) return;
      last = pair;
      checkPair(pair, files);
      onPair(pair);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!stopped && message !== lastFault) onFault(message);
      lastFault = message;
    }
  };
  const schedule = () => {
    timer = setTimeout(() => {
      void look().then(() => {
        if (!stopped) schedule();
      });
    }, intervalMs).unref();
  };
  let timer: NodeJS.Timeout;
  schedule();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

export interface FollowOptions {
  readonly intervalMs: number;
  readonly onPair: (pair: ServerPair) => void;
  readonly onFault: (message: string) => void;
}

async function readBytes({ certificatePath, keyPath }: PairFiles): Promise<ServerPair> {
  const [cert, key] = await Promise.all([certificatePath, keyPath].map(readNamed));
  return { cert: cert!, key: key! };
}

async function readNamed(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown fault'})`);
  }
}

function checkPair({ cert, key }: ServerPair, { certificatePath, keyPath }: PairFiles): void {
  const leaf = attempt(() => new X509Certificate(cert), `${certificatePath} holds no certificate in PEM`);
  const privateKey = attempt(
    () => createPrivateKey(key),
    `${keyPath} holds no private key in PEM, or an encrypted one`,
  );
  if (!leaf.checkPrivateKey(privateKey)) throw new Error(`the key in ${keyPath} does not belong to ${certificatePath}`);
  attempt(() => createSecureContext({ cert, key }), `${certificatePath} and ${keyPath} cannot be used for TLS`);
}

/** The library's own messages may quote what it read. */
function attempt<T>(work: () => T, message: string): T {
  try {
    return work();
  } catch {
    throw new Error(message);
  }
}
