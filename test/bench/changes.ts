/** The kinds of change that are measured, and how a client sees that Envoy has taken them up. */
import { X509Certificate } from 'node:crypto';
import { peerCertificate, type Request, send } from '../support/http-client.ts';
import { tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import type { ChangeRequest } from './protocol.ts';
import {
  certificateCount,
  hostOf,
  ingressOf,
  makePairAt,
  NAMESPACE,
  nameAt,
  PATHS,
  secretAt,
  sliceOf,
  tenantAt,
  tenantManifests,
} from './world.ts';

export const changeKinds = ['path', 'endpoint', 'certificate', 'new host', 'new TLS host', 'deletion'] as const;

export type ChangeKind = (typeof changeKinds)[number];

export interface Change {
  readonly request: Omit<ChangeRequest, 'kind'>;
  /** Whether Envoy answers as it should from now on. */
  seen(): Promise<boolean>;
}

export interface ChangeContext {
  readonly ingresses: number;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Two backends that answer with their names, `a` and `b`; all endpoints are `a` at first. */
  readonly backends: { readonly a: number; readonly b: number };
}

/** What the default host and a host without this path answer. */
const NOT_FOUND = 404;

/** Makes a change of the kind; `round` counts from 0, and `deletion` takes what `new host` of the same round has made. */
export function makeChange(kind: ChangeKind, round: number, context: ChangeContext): Promise<Change> | Change {
  return makers[kind](round, context);
}

const makers: Readonly<Record<ChangeKind, (round: number, context: ChangeContext) => Promise<Change> | Change>> = {
  path: (round, { ingresses, httpPort, backends }) => {
    const tenant = tenantAt(plainIndex(round, ingresses), backends.a);
    const path = `/new-${round}`;
    return {
      request: { upsert: [ingressOf({ ...tenant, paths: [...PATHS, path] })] },
      seen: async () => (await send({ port: httpPort, host: hostOf(tenant.name), path })).status === 200,
    };
  },
  endpoint: (round, { ingresses, httpPort, backends }) => {
    const name = nameAt(plainIndex(round, ingresses));
    // Where the rounds come back to the same one, it moves back.
    const target = Math.floor(round / plainCount(ingresses)) % 2 === 0 ? 'b' : 'a';
    return {
      request: { upsert: [sliceOf({ name, port: backends[target] })] },
      seen: () => answers({ port: httpPort, host: hostOf(name), path: '/shop' }, target),
    };
  },
  certificate: async (round, { ingresses, httpsPort }) => {
    const index = round % certificateCount(ingresses);
    const pair = await makePairAt(index);
    const { fingerprint256 } = new X509Certificate(pair.chain);
    const [host = ''] = new X509Certificate(pair.chain).subjectAltName?.replaceAll('DNS:', '').split(', ') ?? [];
    return {
      request: { upsert: [tlsSecret(secretAt(index), pair, NAMESPACE)] },
      seen: async () => (await peerCertificate(httpsPort, host)).fingerprint256 === fingerprint256,
    };
  },
  'new host': (round, { httpPort, backends }) => {
    const name = newName(round);
    return {
      request: { upsert: tenantManifests({ name, port: backends.a }) },
      seen: () => answers({ port: httpPort, host: hostOf(name), path: '/shop' }, 'a'),
    };
  },
  'new TLS host': async (round, { httpsPort, backends }) => {
    const name = `${newName(round)}-tls`;
    const pair = await makePair([hostOf(name)]);
    return {
      request: {
        upsert: [tlsSecret(name, pair, NAMESPACE), ...tenantManifests({ name, port: backends.a, secret: name })],
      },
      seen: () => answers({ port: httpsPort, host: hostOf(name), path: '/shop', tls: true }, 'a'),
    };
  },
  deletion: (round, { httpPort }) => {
    const name = newName(round);
    const ref = { namespace: NAMESPACE, name };
    return {
      request: {
        remove: [
          { kind: 'Ingress', ...ref },
          { kind: 'Service', ...ref },
          { kind: 'EndpointSlice', ...ref, name: `${name}-a` },
        ],
      },
      seen: async () => (await send({ port: httpPort, host: hostOf(name), path: '/shop' })).status === NOT_FOUND,
    };
  },
};

/** A refused handshake is no answer: with certificates on demand, unknown server names get none. */
async function answers(request: Request, body: string): Promise<boolean> {
  return await send(request).then(
    (answer) => answer.status === 200 && answer.body === body,
    () => false,
  );
}

function newName(round: number): string {
  return `new-${String(round).padStart(3, '0')}`;
}

function plainCount(ingresses: number): number {
  return Math.floor(ingresses / 2);
}

/** An Ingress without TLS, spread over the whole: its host stands in both route tables. */
function plainIndex(round: number, ingresses: number): number {
  const count = plainCount(ingresses);
  // 7,919 is prime, so the rounds meet each of them before they meet one twice.
  return 2 * ((round * 7_919) % count) + 1;
}
