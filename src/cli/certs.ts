import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { stringify } from 'yaml';
import { issueLeaf, type KeyPair, makeAuthority, whyNoAuthority } from './certificate-authority.ts';
import { type CertificateKeeper, keepInCluster, keepInFolder } from './certificate-keeper.ts';
import { authoritySecret, leafSecret } from './certificate-secrets.ts';
import { UsageError } from './flags.ts';
import type { CertsArguments } from './xds-tls.ts';

/** A leaf that is to be issued. */
interface Leaf {
  /** Of its Secret; that of its folder is without the suffix. */
  readonly name: string;
  readonly usage: 'server' | 'client';
  readonly names: readonly string[];
}

/** Name of the Service of the control plane in the shipped manifests. */
const SERVICE = 'ingress-xds-xds';
const DEFAULT_NAMESPACE = 'ingress-xds';
const MAX_DAYS = 3650;

/**
 * The command `certs`: makes what mutual TLS between Envoys and control planes needs, or renews it. Returns the exit code.
 * @throws UsageError for flags that cannot be; Error for a certificate authority that cannot be used and for what cannot be written.
 */
export async function certs(args: CertsArguments): Promise<number> {
  const namespace = args.namespace ?? (process.env['POD_NAMESPACE'] || DEFAULT_NAMESPACE);
  checkArguments(args, namespace);
  const keeper = await keeperOf(args, namespace);
  const authority = await authorityOf(keeper);
  const documents: unknown[] = keeper === undefined ? [authoritySecret(namespace, authority)] : [];
  for (const leaf of leavesOf(args, namespace)) {
    const pair = await issueLeaf(authority, { ...leaf, days: args.days });
    if (args.output === 'secret') documents.push(leafSecret(namespace, leaf.name, pair, authority.certificate));
    else say(`${await keeper!.writeLeaf(leaf, pair, authority.certificate)}: ${describe(leaf, pair)}`);
  }
  for (const document of documents) process.stdout.write(`---\n${stringify(document)}`);
  return 0;
}

function leavesOf({ dnsName, client }: CertsArguments, namespace: string): Leaf[] {
  const service = [
    `${SERVICE}.${namespace}.svc`,
    `${SERVICE}.${namespace}.svc.cluster.local`,
    `${SERVICE}.${namespace}`,
  ];
  const local = ['localhost', '127.0.0.1', '::1'];
  const clients = client.map((name): Leaf => ({ name, usage: 'client', names: [name] }));
  const names = [...new Set([...dnsName, ...service, SERVICE, ...local])];
  return [{ name: 'ingress-xds-server', usage: 'server', names }, ...clients];
}

async function keeperOf(args: CertsArguments, namespace: string): Promise<CertificateKeeper | undefined> {
  if (args.apply) return keepInCluster(namespace, args.kubeconfig);
  return args.out === undefined ? undefined : keepInFolder(args.out);
}

async function authorityOf(keeper: CertificateKeeper | undefined): Promise<KeyPair> {
  const kept = await keeper?.readAuthority();
  if (kept !== undefined) {
    const reason = whyNoAuthority(kept.pair);
    if (reason === undefined) return kept.pair;
    throw new Error(
      `${kept.where}: ${reason}; remove it for a new one, which every Envoy and control plane must then get`,
    );
  }
  const made = await makeAuthority();
  if (keeper !== undefined)
    say(`${await keeper.writeAuthority(made)}: a new certificate authority, whose key signs who may connect`);
  return made;
}

function checkArguments(args: CertsArguments, namespace: string): void {
  const { out, apply, output, days } = args;
  if (apply && (out !== undefined || output === 'secret')) {
    throw new UsageError('--apply writes into the cluster: neither --out nor --output=secret goes with it');
  }
  if (!apply && output === 'files' && !out)
    throw new UsageError('nothing to write to: give --out, --output=secret or --apply');
  if (args.kubeconfig !== undefined && !apply) throw new UsageError('--kubeconfig is for --apply');
  if (!Number.isFinite(days) || days <= 0 || days > MAX_DAYS) {
    throw new UsageError(`--days: must be a number of days, more than 0 and at most ${MAX_DAYS}`);
  }
  if (!LABEL.test(namespace)) throw new UsageError(`--namespace=${namespace}: is no name of a namespace`);
  for (const name of args.dnsName) {
    if (isIP(name) === 0 && !DNS_NAME.test(name))
      throw new UsageError(`--dns-name=${name}: is no DNS name and no IP address`);
  }
  for (const name of args.client)
    if (!DNS_NAME.test(name)) throw new UsageError(`--client=${name}: must be a DNS name`);
  if (new Set([...args.client, 'ingress-xds-server']).size <= args.client.length) {
    throw new UsageError('--client: each client needs a name of its own, other than ingress-xds-server');
  }
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_NAME = /^(?=.{1,240}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

function describe({ usage, names }: Leaf, { certificate }: KeyPair): string {
  const until = new X509Certificate(certificate).validToDate.toISOString().slice(0, 10);
  return `${usage} certificate for ${names.join(', ')} until ${until}`;
}

/** On the error output: the other one may be piped into kubectl. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
