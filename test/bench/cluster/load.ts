/** What the bench puts into a cluster, and how fast. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { ApiClient, Manifest } from '../../cluster/support/api.ts';
import { pathOf } from '../../cluster/support/api.ts';
import { tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { hostOf, NAMESPACE, nameAt, tenantAt, tenantManifests } from '../world.ts';

/** Two servers that answer with their names, at every address of the range for endpoints. */
export const BACKENDS = { a: 8081, b: 8082 } as const;

const CONCURRENCY = 16;

export async function startBackends(): Promise<() => void> {
  const servers: Server[] = [];
  for (const [name, port] of Object.entries(BACKENDS)) {
    const server = createServer({ keepAliveTimeout: 300_000 }, (_, response) => response.end(name));
    servers.push(server.listen(port));
    await once(server, 'listening');
  }
  return () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
}

/** The API server refuses endpoints on loopback: each slice gets an address of its own out of 10.128.0.0/10. */
export function inCluster(manifest: Manifest, index: number): Manifest {
  if (manifest.kind !== 'EndpointSlice') return manifest;
  const number = index + 1;
  const address = `10.${128 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  return { ...manifest, endpoints: [{ addresses: [address], conditions: { ready: true } }] };
}

/**
 * Creates Ingresses from number `from` to `to`, each with a Service, an EndpointSlice and a TLS Secret of its own. Every second Ingress
 * has TLS; the Secrets of the others are named by nobody.
 */
export async function load(api: ApiClient, from: number, to: number): Promise<void> {
  let next = from;
  const work = async () => {
    while (next < to) {
      const index = next++;
      const name = nameAt(index);
      const tenant = { ...tenantAt(index, BACKENDS.a), ...(index % 2 === 0 && { secret: name }) };
      const secret = tlsSecret(name, await makePair([hostOf(name)]), NAMESPACE);
      for (const manifest of [secret, ...tenantManifests(tenant)]) {
        const object = { apiVersion: 'v1', ...inCluster(manifest, index) };
        await api.create(pathOf(object).replace(/\/[^/]+$/, ''), object);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}
