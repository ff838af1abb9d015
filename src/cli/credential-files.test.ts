/** Certificates that change under a running control plane, with real files. */
import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { issueLeaf, type KeyPair, makeAuthority } from './certificate-authority.ts';
import { keepInFolder } from './certificate-keeper.ts';
import { type CredentialFiles, openCredentialFiles } from './credential-files.ts';

const DEADLINE = { timeout: 20_000 };

let authority: KeyPair;
let otherAuthority: KeyPair;
let leaves: KeyPair[];

beforeAll(async () => {
  authority = await makeAuthority();
  otherAuthority = await makeAuthority();
  leaves = await Promise.all([1, 2, 3].map(() => leaf(30)));
});

let folder: string;
let files: CredentialFiles | undefined;
let problems: string[];
let renewals: number;
let expiring: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'credentials-test-'));
  files = undefined;
  problems = [];
  renewals = 0;
  expiring = [];
});
afterEach(async () => {
  files?.close();
  await rm(folder, { recursive: true, force: true });
});

function leaf(days: number): Promise<KeyPair> {
  return issueLeaf(authority, { names: ['xds.example.com'], usage: 'server', days });
}

function paths() {
  return { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), ca: join(folder, 'ca.crt') };
}

async function write(pair: Partial<KeyPair> & { ca?: string }): Promise<void> {
  for (const [name, text] of Object.entries({ ca: pair.ca, key: pair.key, certificate: pair.certificate })) {
    if (text !== undefined) await writeFile(paths()[name as 'ca'], text);
  }
}

async function open(): Promise<CredentialFiles> {
  files = await openCredentialFiles(paths(), {
    onRenewed: () => renewals++,
    onProblem: (message) => problems.push(message.replaceAll(folder, 'DIR')),
    onExpiring: (message) => expiring.push(message.replaceAll(folder, 'DIR')),
  });
  return files;
}

async function uses({ certificate, key }: KeyPair): Promise<void> {
  const expected = new X509Certificate(certificate).serialNumber;
  const current = () => ({
    serial: new X509Certificate(files!.current.certificate).serialNumber,
    key: Buffer.from(files!.current.key).toString(),
  });
  await expect.poll(current, DEADLINE).toEqual({ serial: expected, key });
}

async function start(): Promise<void> {
  await write({ ...leaves[0], ca: authority.certificate });
  await open();
}

test('files that are written in place, one after another', async () => {
  await start();
  await write(leaves[1]!);
  await uses(leaves[1]!);
  await write({ ca: authority.certificate + otherAuthority.certificate });
  await expect.poll(() => files?.current.ca.length, DEADLINE).toBe(2);
  expect(problems).toEqual([]);
});

test('files that are renamed to their place', async () => {
  await start();
  await writeFile(join(folder, 'new.key'), leaves[1]!.key);
  await writeFile(join(folder, 'new.crt'), leaves[1]!.certificate);
  await rename(join(folder, 'new.key'), paths().key);
  await rename(join(folder, 'new.crt'), paths().certificate);
  await uses(leaves[1]!);
  expect(problems).toEqual([]);
});

test('the volume of a Kubernetes Secret, where one link is moved', async () => {
  const volume = async (version: string, pair: KeyPair) => {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'tls.crt'), pair.certificate);
    await writeFile(join(folder, version, 'tls.key'), pair.key);
    await writeFile(join(folder, version, 'ca.crt'), authority.certificate);
    await symlink(version, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  await volume('..1', leaves[0]!);
  for (const name of ['tls.crt', 'tls.key', 'ca.crt']) await symlink(join('..data', name), join(folder, name));
  const seen: number[] = [];
  (await open()).subscribe(() => seen.push(1));
  for (const [index, pair] of [leaves[1]!, leaves[2]!].entries()) {
    await volume(`..${index + 2}`, pair);
    await rm(join(folder, `..${index + 1}`), { recursive: true });
    await uses(pair);
  }
  expect([renewals, seen.length, problems]).toEqual([2, 2, []]);
});

test('what certs writes, also when the folder is removed in between', async () => {
  const pki = join(folder, 'pki');
  const keeper = keepInFolder(pki);
  const server = { name: 'server', usage: 'server' } as const;
  await keeper.writeLeaf(server, leaves[0]!, authority.certificate);
  const target = join(pki, 'server');
  files = await openCredentialFiles(
    { certificate: join(target, 'tls.crt'), key: join(target, 'tls.key'), ca: join(target, 'ca.crt') },
    { onRenewed: () => renewals++, onProblem: (message) => problems.push(message), onExpiring: () => {} },
  );
  await keeper.writeLeaf(server, leaves[1]!, authority.certificate);
  await uses(leaves[1]!);
  expect(problems).toEqual([]);
  await rm(pki, { recursive: true });
  await expect.poll(() => problems, DEADLINE).toEqual([expect.stringContaining('cannot be read: ENOENT')]);
  await uses(leaves[1]!);
  await keeper.writeLeaf(server, leaves[2]!, authority.certificate);
  await uses(leaves[2]!);
  await keeper.writeLeaf(server, leaves[0]!, authority.certificate);
  await uses(leaves[0]!);
});

test.each([
  ['a key of another certificate', () => ({ key: leaves[1]!.key }), 'DIR/tls.key: is not the key of DIR/tls.crt'],
  [
    'half of a file',
    () => ({ certificate: leaves[1]!.certificate.slice(0, 200) }),
    'DIR/tls.crt: is not a PEM certificate',
  ],
  ['an empty file', () => ({ ca: '' }), 'DIR/ca.crt: holds no PEM certificate'],
  [
    'a broken authority beside a good one',
    () => ({ ca: `${authority.certificate}${authority.certificate.replace('MII', 'AAA')}` }),
    'DIR/ca.crt: is not a list of PEM certificates',
  ],
  [
    'an authority that is none',
    () => ({ ca: leaves[1]!.certificate }),
    'DIR/ca.crt: CN=xds.example.com is not a certificate authority',
  ],
  [
    'a key with a passphrase',
    () => ({ key: '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n' }),
    'DIR/tls.key: is not a PEM private key without a passphrase',
  ],
])('%s is told once, and what was good stays in use', async (_, change, problem) => {
  await start();
  await write(change());
  await expect.poll(() => problems, DEADLINE).toEqual([problem]);
  await uses(leaves[0]!);
  expect(files!.current.ca).toEqual([authority.certificate.trim()]);
  await write({ ...leaves[2], ca: authority.certificate });
  await uses(leaves[2]!);
  expect([problems, renewals]).toEqual([[problem], 1]);
});

test('at the start files that cannot be used are refused', async () => {
  await write({ ...leaves[0] });
  await expect(open()).rejects.toThrow(`${paths().ca}: cannot be read: ENOENT`);
  await write({ ca: authority.certificate, key: leaves[1]!.key });
  await expect(open()).rejects.toThrow('is not the key of');
});

test('a certificate that has expired is refused, also as an authority', async () => {
  const expired = await leaf(-1 / 24 / 60);
  await write({ ...expired, ca: authority.certificate });
  await expect(open()).rejects.toThrow(/tls\.crt: the certificate has expired on 20/);
  const selfSigned = await makePair(['x.example.com']);
  await write({ ...leaves[0], ca: selfSigned.chain });
  await expect(open()).rejects.toThrow('is not a certificate authority');
});

test('a certificate that nobody has renewed in time is told once', async () => {
  await start();
  await write(await leaf(20 / 24 / 3600));
  await expect.poll(() => expiring, DEADLINE).toEqual([expect.stringMatching(/^DIR\/tls\.crt: .* expires on 20/)]);
  await write(await leaf(25 / 24 / 3600));
  await expect.poll(() => expiring.length, DEADLINE).toBe(2);
  await write(leaves[1]!);
  await uses(leaves[1]!);
  expect([expiring.length, renewals]).toEqual([2, 3]);
});
