import { randomBytes } from 'node:crypto';
import { mkdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import type { KeyPair } from './certificate-authority.ts';
import {
  AUTHORITY_SECRET,
  authoritySecret,
  leafSecret,
  leafSecretName,
  type TlsSecret,
} from './certificate-secrets.ts';

/** Where certificates are kept. Every method that writes resolves with the place, for people. */
export interface CertificateKeeper {
  /** `undefined` where there is none yet. @throws Error when there is half of one. */
  readAuthority(): Promise<{ readonly pair: KeyPair; readonly where: string } | undefined>;
  /** Never replaces one. */
  writeAuthority(authority: KeyPair): Promise<string>;
  /** Replaces what is there. */
  writeLeaf(
    leaf: { readonly name: string; readonly usage: 'server' | 'client' },
    pair: KeyPair,
    ca: string,
  ): Promise<string>;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * `ca.crt` and `ca.key`; each leaf in a folder of its own with the files that a mounted Secret has, so that both are used alike:
 * `server/` and `clients/NAME/` with `tls.crt`, `tls.key` and `ca.crt`.
 */
export function keepInFolder(folder: string): CertificateKeeper {
  const paths = { certificate: join(folder, 'ca.crt'), key: join(folder, 'ca.key') };
  return {
    async readAuthority() {
      const [certificate, key] = await Promise.all([readIfThere(paths.certificate), readIfThere(paths.key)]);
      if (certificate === undefined && key === undefined) return undefined;
      if (certificate === undefined || key === undefined) {
        const [there, missing] = certificate ? [paths.certificate, paths.key] : [paths.key, paths.certificate];
        throw new Error(
          `${there} is there, but not ${missing}: nothing can be signed; bring it back, or remove the other`,
        );
      }
      return { pair: { certificate, key }, where: paths.certificate };
    },
    async writeAuthority({ certificate, key }) {
      await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
      await writeFile(paths.key, key, { mode: FILE_MODE, flag: 'wx' });
      await writeFile(paths.certificate, certificate, { mode: FILE_MODE, flag: 'wx' });
      return paths.certificate;
    },
    async writeLeaf({ name, usage }, { certificate, key }, ca) {
      const target = usage === 'server' ? join(folder, 'server') : join(folder, 'clients', name);
      await replaceFiles(target, { 'ca.crt': ca, 'tls.key': key, 'tls.crt': certificate });
      return join(target, 'tls.crt');
    },
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Replaces all files of a folder at once, as Kubernetes does in the volume of a Secret: they are links through one link, which is
 * moved. Who watches the folder sees one change, and nobody a certificate with the key of another.
 */
async function replaceFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const current = join(folder, '..data');
  const former = await readlink(current).catch(() => undefined);
  const version = `..${randomBytes(8).toString('hex')}`;
  await mkdir(join(folder, version), { mode: FOLDER_MODE });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, version, name), text, { mode: FILE_MODE });
  }
  await replaceLink(version, current);
  for (const name of Object.keys(files)) await replaceLink(join('..data', name), join(folder, name));
  if (former !== undefined) await rm(join(folder, former), { recursive: true, force: true });
}

async function replaceLink(target: string, path: string): Promise<void> {
  if ((await readlink(path).catch(() => undefined)) === target) return;
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  await symlink(target, temporary);
  await rename(temporary, path);
}

/**
 * Secrets of a namespace.
 * @throws KubernetesConfigError when there is no cluster to speak to.
 */
export function keepInCluster(namespace: string, kubeconfig: string | undefined): CertificateKeeper {
  const client = createKubernetesClient({ userAgent: 'ingress-xds', ...(kubeconfig !== undefined && { kubeconfig }) });
  const folder = `/api/v1/namespaces/${namespace}/secrets`;
  const where = (name: string) => `Secret ${namespace}/${name}`;
  return {
    async readAuthority() {
      const { status, body } = await client.request('GET', `${folder}/${AUTHORITY_SECRET}`);
      if (status === 404) return undefined;
      if (status !== 200) throw refused(`read ${where(AUTHORITY_SECRET)}`, status, body);
      const { data = {} } = body as Partial<TlsSecret>;
      const [certificate, key] = ['tls.crt', 'tls.key'].map((name) =>
        Buffer.from(data[name] ?? '', 'base64').toString(),
      );
      return { pair: { certificate: certificate!, key: key! }, where: where(AUTHORITY_SECRET) };
    },
    async writeAuthority(authority) {
      const { status, body } = await client.request('POST', folder, { body: authoritySecret(namespace, authority) });
      if (status !== 201) throw refused(`create ${where(AUTHORITY_SECRET)}`, status, body);
      return where(AUTHORITY_SECRET);
    },
    async writeLeaf({ name }, pair, ca) {
      await writeSecret(client, folder, leafSecret(namespace, name, pair, ca));
      return where(leafSecretName(name));
    },
  };
}

/** Updates, or creates what is not there yet. */
async function writeSecret(client: KubernetesClient, folder: string, secret: TlsSecret): Promise<void> {
  const { name, namespace } = secret.metadata;
  const contentType = 'application/merge-patch+json';
  const update = await client.request('PATCH', `${folder}/${name}`, { body: secret, contentType });
  if (update.status === 200) return;
  if (update.status !== 404) throw refused(`update Secret ${namespace}/${name}`, update.status, update.body);
  const creation = await client.request('POST', folder, { body: secret });
  if (creation.status !== 201) throw refused(`create Secret ${namespace}/${name}`, creation.status, creation.body);
}

function refused(what: string, status: number, body: unknown): Error {
  const message = (body as { message?: unknown } | undefined)?.message;
  return new Error(`cannot ${what}: ${typeof message === 'string' ? message : `HTTP status ${status}`}`);
}
