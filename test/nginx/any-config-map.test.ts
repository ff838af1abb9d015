/** Whatever users write into the ConfigMap and those that it names, a real nginx takes the configuration that comes of it. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConfigMap } from '../../src/cluster/objects.ts';
import { configMap, endpointSlice, ingress, rule, service, tlsSecret, World } from '../../src/ingress/testing.ts';
import { findNginx } from '../../src/nginx/binary.ts';
import { certificateFile, certificatePem } from '../../src/nginx/certificate-file.ts';
import { createNginxEmitter, NGINX } from '../../src/nginx/emit.ts';
import { builtInTemplate } from '../../src/nginx/template-files.ts';
import { everyKeyWithEveryValue, fewKeys, HOSTILE_HEADERS } from '../support/hostile/config-maps.ts';
import { makePair } from '../support/pki.ts';

const SEED = Number(process.env['SEED'] ?? 20_260_301);
const folder = mkdtempSync(join(tmpdir(), 'any-config-map-'));

type Data = Readonly<Record<string, string>>;

/** Path of the binary, and what makes the text of a configuration. */
let nginx: string;
let configurationFor: (data: Data, others: readonly ConfigMap[]) => string;

beforeAll(async () => {
  const binary = await findNginx();
  const pair = await makePair(['shop.example.com']);
  for (const name of ['certificates', 'temp']) mkdirSync(join(folder, name));
  const world = new World(pair, { configMap: 'shop/config', proxy: 'nginx', tcpServices: 'shop/tcp' });
  const emitter = createNginxEmitter(world.engine, world.model, {
    nginx: binary,
    ipv6: true,
    accessLog: join(folder, 'access.log'),
    dynamic: false,
    luaFolder: folder,
    folder,
    resolvers: ['127.0.0.1'],
  });
  world.apply(
    service('shop/web'),
    endpointSlice('shop/web-a', 'web', ['10.0.0.1']),
    ingress('shop/web', {
      rules: [rule('shop.example.com', { '/': 'web:80' })],
      tls: [{ hosts: ['shop.example.com'], secretName: 'tls' }],
    }),
    tlsSecret('shop/tls', pair),
    configMap('shop/tcp', { 9000: 'shop/web:80' }),
    configMap('shop/config', {}),
  );
  for (const name of emitter.certificates.keys()) {
    const certificate = emitter.certificates.get(name);
    if (certificate === undefined) continue;
    for (const file of [certificateFile(folder, certificate), join(folder, 'default.pem')])
      writeFileSync(file, certificatePem(certificate), { mode: 0o600 });
  }
  nginx = binary.path;
  configurationFor = (data, others) => {
    world.apply(configMap('shop/config', data), ...others);
    const config = emitter.config.get(NGINX);
    if (config === undefined) throw new Error('there is always a configuration');
    return builtInTemplate().render(config);
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;

async function expectAccepted(data: Data, ...others: readonly ConfigMap[]) {
  const file = join(folder, `nginx-${count++}.conf`);
  writeFileSync(file, configurationFor(data, others));
  const said = await promisify(execFile)(nginx, ['-t', '-c', file]).then(
    ({ stderr }) => stderr,
    (error: { readonly stderr: string }) => error.stderr,
  );
  // It warns of what is possible: more connections than the system's own limit, tables that are larger than they need to be.
  const errors = said.split('\n').filter((line) => /\[(error|crit|alert|emerg)\]/.test(line));
  expect(errors, JSON.stringify({ data, others }).slice(0, 50_000)).toEqual([]);
}

/** Two at a time. */
async function expectAllAccepted(all: readonly Data[]) {
  for (let index = 0; index < all.length; index += 2)
    await Promise.all(all.slice(index, index + 2).map((data) => expectAccepted(data)));
}

test('every key with every value', { timeout: 240_000 }, () => expectAllAccepted(everyKeyWithEveryValue()));

test('a few keys at a time', { timeout: 60_000 }, () => expectAllAccepted(fewKeys(60, SEED)));

test.each(['add-headers', 'proxy-set-headers'])('headers that nobody needs in %s', async (key) => {
  for (const headers of HOSTILE_HEADERS)
    await expectAccepted({ [key]: 'shop/headers' }, configMap('shop/headers', headers));
});
