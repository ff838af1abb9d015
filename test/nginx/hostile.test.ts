/** What users should not write, before a real nginx: it accepts the configuration, and hosts without such texts are served. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findNginx, type NginxBinary } from '../../src/nginx/binary.ts';
import { certificatePem } from '../../src/nginx/certificate-file.ts';
import { hostileTexts, nginxConfWith } from '../support/hostile/nginx-objects.ts';
import { makePair, type Pair } from '../support/pki.ts';

let nginx: NginxBinary;
let pair: Pair;
const folder = mkdtempSync(join(tmpdir(), 'hostile-nginx-'));

beforeAll(async () => {
  nginx = await findNginx();
  pair = await makePair(['shop.example.com']);
  for (const name of ['certificates', 'temp']) mkdirSync(join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([false, true])(
  'hundreds of hostile texts in every field, with Lua: %s',
  { timeout: 120_000 },
  async (dynamic) => {
    const luaFolder = join(import.meta.dirname, '../../src/nginx/lua');
    const accessLog = join(folder, 'access.log');
    const options = { nginx, ipv6: true, accessLog, dynamic, luaFolder, folder, resolvers: ['127.0.0.1'] };
    const { text, config, certificates } = nginxConfWith(hostileTexts(200), pair, options);
    for (const [file, certificate] of certificates) writeFileSync(file, certificatePem(certificate), { mode: 0o600 });
    expect(config.servers.length).toBeGreaterThan(800);
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, text);
    const { stderr } = await promisify(execFile)(nginx.path, ['-t', '-c', file], { maxBuffer: 1e9 });
    expect(stderr.split('\n').filter((line) => /\[(warn|error|crit|alert|emerg)\]/.test(line))).toEqual([]);
    expect(stderr).toContain('test is successful');
  },
);
