import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Translation } from '../../src/cli/translate.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { inlineBootstrap, type StaticResources } from '../support/static-bootstrap.ts';
import {
  BASE,
  CASES_FOLDER,
  caseNames,
  orphans,
  showDiagnostics,
  showNginxConf,
  showResources,
  translateCase,
  translateCaseToNginx,
} from './cases.ts';

let base: Translation;
let nginxBase: string;
let envoy: string;
const scratch = mkdtempSync(join(tmpdir(), 'golden-envoy-'));

beforeAll(async () => {
  base = await translateCase(BASE);
  nginxBase = (await translateCaseToNginx(BASE)).text;
  envoy = (await findEnvoy()).path;
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** What Envoy warns of and is meant: unknown methods are passed on; a UDP proxy has a matcher, since its `cluster` is deprecated. */
const EXPECTED = /(Http1ProtocolOptions\.allow_custom_methods|UdpProxyConfig\.matcher)' is marked as work-in-progress/;

describe.each(caseNames())('%s', (name) => {
  test('becomes what it became', async () => {
    const { resources, diagnostics } = await translateCase(name);
    const shown = showResources(resources, name === BASE ? {} : base.resources);
    await expect(shown).toMatchFileSnapshot(join(CASES_FOLDER, name, 'envoy.yaml'));
    await expect(showDiagnostics(diagnostics)).toMatchFileSnapshot(join(CASES_FOLDER, name, 'diagnostics.yaml'));
  });

  test('becomes what it became, for nginx', async () => {
    const { text } = await translateCaseToNginx(name);
    const shown = showNginxConf(text, name === BASE ? '' : nginxBase);
    await expect(shown).toMatchFileSnapshot(join(CASES_FOLDER, name, 'nginx.conf'));
  });

  test('is accepted by Envoy, keys and all', async () => {
    const { resources } = await translateCase(name, { reveal: true });
    const file = join(scratch, `${name}.json`);
    writeFileSync(file, JSON.stringify(inlineBootstrap(resources as unknown as StaticResources)), { mode: 0o600 });
    const flags = ['--mode', 'validate', '--log-level', 'warning', '--reject-unknown-dynamic-fields'];
    const { stdout, stderr } = await promisify(execFile)(envoy, ['-c', file, ...flags]);
    expect(stdout).toContain('OK');
    expect(stderr.split('\n').filter((line) => line !== '' && !EXPECTED.test(line))).toEqual([]);
  });
});

test('nothing lies here that belongs to no case', () => {
  const found = orphans();
  const updating = expect.getState().snapshotState.snapshotUpdateState === 'all';
  if (updating) for (const path of found) rmSync(join(CASES_FOLDER, path), { recursive: true });
  expect(updating ? [] : found).toEqual([]);
});
