/** Every golden case as the configuration of the nginx here, with and without Lua: nginx accepts it and warns of nothing. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findNginx, type NginxBinary } from '../../src/nginx/binary.ts';
import { certificatePem, fileBytes } from '../../src/nginx/certificate-file.ts';
import { caseNames, translateCaseToNginx } from '../golden/cases.ts';

const LUA_FOLDER = join(import.meta.dirname, '../../src/nginx/lua');

let nginx: NginxBinary;
const folder = mkdtempSync(join(tmpdir(), 'golden-nginx-'));

beforeAll(async () => {
  nginx = await findNginx();
  for (const name of ['certificates', 'temp']) mkdirSync(join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(caseNames())('%s', (name) => {
  test.each([
    ['without Lua', false],
    ['with Lua', true],
  ])('%s', async (_, dynamic) => {
    const accessLog = join(folder, 'access.log');
    const emit = { nginx, accessLog, dynamic, luaFolder: LUA_FOLDER, folder, resolvers: ['127.0.0.1', '[::1]'] };
    const { text, config, certificates, backendFiles } = await translateCaseToNginx(name, emit);
    for (const [file, certificate] of certificates) writeFileSync(file, certificatePem(certificate), { mode: 0o600 });
    for (const [file, content] of backendFiles) writeFileSync(file, fileBytes(content), { mode: 0o600 });
    const [fallback] = certificates.values();
    if (dynamic && fallback !== undefined) writeFileSync(config.settings.defaultCertificate, certificatePem(fallback));
    const file = join(folder, `${name}.conf`);
    writeFileSync(file, text);
    const { stderr } = await promisify(execFile)(nginx.path, ['-t', '-c', file]);
    expect(stderr.split('\n').filter((line) => /\[(warn|error|crit|alert|emerg)\]/.test(line))).toEqual([]);
    expect(stderr).toContain('test is successful');
  });
});
