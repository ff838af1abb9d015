/**
 * What a number of TLS Secrets make a control plane hold, in a process of its own, run with `--expose-gc`.
 * Arguments: how many Secrets, and how many certificates follow the first one in each chain. Prints a `CertificateMemory` as JSON.
 */
import { setImmediate } from 'node:timers/promises';
import { createPipeline } from '../../../src/cli/pipeline.ts';
import { decodeObject } from '../../../src/cluster/decode.ts';
import { defaultOptions } from '../../../src/ingress/testing.ts';
import { typeUrls } from '../../../src/xds/resource.ts';
import { ingress, tlsSecret } from '../manifests.ts';
import { makePair } from '../pki.ts';

export interface CertificateMemory {
  readonly secrets: number;
  /** Sum of the sizes of all PEM texts, keys included, in bytes. */
  readonly pemBytes: number;
  /** What the heap and the buffers outside of it grew by, after a garbage collection, in bytes. */
  readonly heldBytes: number;
}

/** How many hosts one Ingress has, so that Ingresses weigh little. */
const HOSTS_PER_INGRESS = 50;

const [secrets = 0, extraCertificates = 0] = process.argv.slice(2).map(Number);
const generated = await makePair(['default.example.com']);
const { state, store, controller } = createPipeline({
  build: { ...defaultOptions(generated), tlsOnDemand: process.argv.includes('--tls-on-demand') },
  emit: { ipv6: false },
});
const filler = (await makePair(['filler.example.com'])).chain.repeat(extraCertificates);
await controller.start();
const before = await heldBytes();
let pemBytes = 0;
for (let index = 0; index < secrets; index++) await addSecret(index);
for (let index = 0; index < secrets; index += HOSTS_PER_INGRESS) addIngress(index);
controller.notify(true);
while (store.seq < 2) await setImmediate();
sendEverything();
const memory: CertificateMemory = { secrets, pemBytes, heldBytes: (await heldBytes()) - before };
process.stdout.write(JSON.stringify(memory));

async function addSecret(index: number): Promise<void> {
  const { chain, key } = await makePair([hostName(index)]);
  const pair = { chain: chain + filler, key };
  pemBytes += pair.chain.length + pair.key.length;
  apply(tlsSecret(`tls-${index}`, pair));
}

function addIngress(first: number): void {
  const hosts = Array.from({ length: Math.min(HOSTS_PER_INGRESS, secrets - first) }, (_, offset) => first + offset);
  apply(
    ingress({
      name: `web-${first}`,
      rules: hosts.map((index) => ({ host: hostName(index), paths: [{}] })),
      tls: hosts.map((index) => ({ hosts: [hostName(index)], secretName: `tls-${index}` })),
    }),
  );
}

function apply(manifest: unknown): void {
  const { objects } = decodeObject(manifest, { defaultNamespace: 'default', keepResourceVersion: false });
  state.apply(objects.map((upsert) => ({ upsert })));
}

/** As two proxies that ask for everything do. */
function sendEverything(): void {
  const names = [...store.names(typeUrls.secret)];
  if (names.length < secrets) throw new Error(`${names.length} secrets are served, not ${secrets}`);
  for (const name of [...names, ...names]) store.get(typeUrls.secret, name)?.body();
}

function hostName(index: number): string {
  return `h${index}.example.com`;
}

/** What hangs on objects that were collected (certificates of OpenSSL, buffers) is freed in later turns. */
async function heldBytes(): Promise<number> {
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
