/** Asks OCSP responders over HTTP, whose addresses stand in certificates, which tenants of a cluster bring. */
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { specialAddress } from '../ip-address.ts';
import type { Question } from './message.ts';

/** Resolves with the DER of the answer. Rejects with an Error whose message follows `the OCSP responder …`. */
export type Ask = (question: Question) => Promise<Uint8Array>;

const DEADLINE_MS = 10_000;
/** An answer takes some hundred bytes, with certificates some thousand. */
const MAX_BYTES = 64 * 1024;

/** Not where this machine listens for itself, or where a cloud tells its machines alone. */
export function isAsked(address: string): boolean {
  return specialAddress(address) === undefined;
}

export interface AskOptions {
  /** Whether a responder may be at this address. Default: `isAsked`. */
  readonly isAllowed?: (address: string) => boolean;
  /** The addresses of a name, at least one. Default: what DNS says. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

export function createAsk({ isAllowed = isAsked, resolve = createResolve() }: AskOptions = {}): Ask {
  return async ({ url, request: body }) => {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const address = await addressOf(host, { isAllowed, resolve });
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const options: RequestOptions = {
      method: 'POST',
      agent: false,
      signal: AbortSignal.timeout(DEADLINE_MS),
      // What was looked up and allowed is what is asked, whatever the name means a moment later.
      lookup: (_name, { all }, done) =>
        all
          ? (done as (error: null, all: LookupAddress[]) => void)(null, [address])
          : done(null, address.address, address.family),
      headers: { 'content-type': 'application/ocsp-request', 'content-length': body.length },
    };
    return await exchange(() => send(url, options), body);
  };
}

async function addressOf(host: string, { isAllowed, resolve }: Required<AskOptions>): Promise<LookupAddress> {
  const addresses = isIP(host) === 0 ? await resolve(host).catch(unknownName) : [host];
  const allowed = addresses.find(isAllowed);
  if (allowed === undefined) throw new Error('is at an address that is not asked');
  return { address: allowed, family: isIP(allowed) };
}

/** Not by the resolver of the system, which holds up what else the process does with files while a server of names is silent. */
function createResolve(): Required<AskOptions>['resolve'] {
  const resolver = new Resolver({ timeout: DEADLINE_MS / 4, tries: 1 });
  return async (name) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason;
    return [ipv4, ipv6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}

function unknownName(error: NodeJS.ErrnoException): never {
  throw new Error(`is not found (${error.code ?? error.message})`);
}

function exchange(open: () => ReturnType<typeof requestHttp>, body: Uint8Array): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const outgoing = open();
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    reject(
      new Error(
        error.name === 'AbortError' || error.name === 'TimeoutError'
          ? 'does not answer in time'
          : `cannot be asked (${error.code ?? error.message})`,
      ),
    );
  });
  outgoing.on('response', (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BYTES) {
        reject(new Error(`answers more than ${MAX_BYTES} bytes`));
        response.destroy();
      }
    });
    response.on('error', () => reject(new Error('does not end its answer')));
    response.on('end', () => {
      if (response.statusCode === 200) resolve(Buffer.concat(chunks));
      else reject(new Error(`answers with status ${response.statusCode}`));
    });
  });
  outgoing.end(body);
  return promise;
}
