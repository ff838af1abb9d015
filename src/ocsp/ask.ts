/** Asks OCSP responders over HTTP, whose addresses stand in certificates, which tenants of a cluster bring. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Question } from './message.ts';

/** Resolves with the DER of the answer. Rejects with an Error whose message follows `the OCSP responder …`. */
export type Ask = (question: Question) => Promise<Uint8Array>;

const DEADLINE_MS = 10_000;
/** An answer takes some hundred bytes, with certificates some thousand. */
const MAX_BYTES = 64 * 1024;

/** Addresses that lead to this machine, or to what a cloud tells its machines alone. */
const NOT_ASKED: ReadonlySet<string> = new Set(['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast']);

export function isAsked(address: string): boolean {
  return !NOT_ASKED.has(ipaddr.process(address).range());
}

/** @param isAllowed whether a responder may be at this address; `isAsked` but for tests. */
export function createAsk(isAllowed: (address: string) => boolean = isAsked): Ask {
  return async ({ url, request: body }) => {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const address = await addressOf(host, isAllowed);
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

async function addressOf(host: string, isAllowed: (address: string) => boolean): Promise<LookupAddress> {
  const family = isIP(host);
  const addresses = family === 0 ? await lookup(host, { all: true }).catch(unknownName) : [{ address: host, family }];
  const allowed = addresses.find(({ address }) => isAllowed(address));
  if (allowed === undefined) throw new Error('is at an address that is not asked');
  return allowed;
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
