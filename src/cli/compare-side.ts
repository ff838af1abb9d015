/** One of the two proxies that are compared. */
import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { ComparedAnswer, Reply } from './compare-answer.ts';
import type { ComparedRequest } from './compare-requests.ts';

export interface SideOptions {
  readonly url: URL;
  /** Host of requests that name none; absent: that of the URL. */
  readonly host?: string;
  /** Names and values, by turns. */
  readonly headers: readonly (readonly [string, string])[];
  readonly insecure: boolean;
  /** For a whole answer, in milliseconds. */
  readonly timeoutMs: number;
}

export interface Side {
  /** `host:port` as the URL has it. */
  readonly origin: string;
  /** Sends a request on a connection of its own and follows no redirect. Failures of the network are replies. */
  send(request: ComparedRequest): Promise<Reply>;
}

export function createSide({ url, host: standard, headers, insecure, timeoutMs }: SideOptions): Side {
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    origin: url.host,
    send: ({ method, path, host = standard ?? url.host }) => {
      const name = host.replace(/:\d+$/, '').replace(/\.$/, '');
      const options: RequestOptions & { readonly servername?: string; readonly rejectUnauthorized?: boolean } = {
        hostname,
        ...(url.port !== '' && { port: url.port }),
        method,
        path,
        headers: { host, 'user-agent': 'ingress-xds-compare', ...Object.fromEntries(headers) },
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        // As a client that has looked the name up: the certificate has to be for it.
        servername: isIP(name) === 0 && !name.startsWith('[') ? name : '',
        rejectUnauthorized: !insecure,
      };
      return new Promise<Reply>((resolve) => {
        let connected = false;
        const fail = (error: Error) => resolve({ failure: reason(error, timeoutMs), connected });
        try {
          const outgoing = open(options, (response) => void read(response).then(resolve, fail));
          outgoing.on('error', fail);
          outgoing.on('socket', (socket) =>
            socket.once('connect', () => {
              connected = true;
            }),
          );
          // What was asked for as an upgrade is not gone on with.
          outgoing.on('upgrade', (response: IncomingMessage, socket) => {
            socket.destroy();
            resolve(answerOf(response, 0, createHash('sha256').digest('hex')));
          });
          outgoing.end();
        } catch (error) {
          fail(error as Error);
        }
      });
    },
  };
}

async function read(response: IncomingMessage): Promise<ComparedAnswer> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return answerOf(response, bytes, hash.digest('hex'));
}

function answerOf(
  { statusCode = 0, headersDistinct }: IncomingMessage,
  bytes: number,
  bodyHash: string,
): ComparedAnswer {
  const headers = Object.entries(headersDistinct).map(([name, values]) => [name, values ?? []]);
  return { status: statusCode, headers: Object.fromEntries(headers), bytes, bodyHash };
}

const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired (see --insecure)',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed (see --insecure)',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection ended without an answer',
  EHOSTUNREACH: 'no way to this address',
  ENETUNREACH: 'no way to this address',
  ENOTFOUND: 'no such host',
  EPIPE: 'connection ended without an answer',
  EPROTO: 'it speaks no TLS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host (see --insecure)',
  ETIMEDOUT: 'no connection in time',
  SELF_SIGNED_CERT_IN_CHAIN: 'nobody known has signed its certificate (see --insecure)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'nobody known has signed its certificate (see --insecure)',
};

function reason(error: Error & { readonly code?: string | number }, timeoutMs: number): string {
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return `no answer within ${timeoutMs / 1000} s`;
  return REASONS[error.code ?? ''] ?? error.message;
}
