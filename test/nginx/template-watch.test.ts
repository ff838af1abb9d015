/** A template of one's own, edited while nginx serves. */
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { runCommand } from '../support/command.ts';
import { poll } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { ingress, service } from '../support/manifests.ts';
import { type NginxCommand, startNginxCommand } from './support/nginx-command.ts';

vi.setConfig({ testTimeout: 120_000 });

const BUILT_IN = join(import.meta.dirname, '../../src/nginx/nginx.conf.eta');

let folder: string;
let file: string;
let backend: Backend;
let nginx: NginxCommand | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'template-'));
  file = join(folder, 'mine.tmpl');
  backend = await startBackend('pod');
});
afterEach(async () => {
  await nginx?.close();
  nginx = undefined;
  await backend.close();
  await rm(folder, { recursive: true });
});

/** The built-in template with one more line in its block `http`, put in place at once as editors do. */
async function edit(line: string): Promise<void> {
  const text = await readFile(BUILT_IN, 'utf8');
  await writeFile(`${file}.new`, text.replace('\nhttp {\n', `\nhttp {\n${line}\n`));
  await rename(`${file}.new`, file);
}

async function lineNumber(part: string): Promise<number> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.findIndex((line) => line.includes(part)) + 1;
}

async function header(): Promise<unknown> {
  const { headers } = await send({ port: nginx!.httpPort, host: 'web.example.com' });
  return headers['x-mine'];
}

async function untilHeader(value: string): Promise<void> {
  await poll(
    async () => (await header()) === value,
    () => `x-mine is not ${value}:\n${nginx?.command.output()}`,
  );
}

test('what cannot be used leaves the last good one in force, and is told with line and reason', async () => {
  await edit('add_header x-mine one always;');
  nginx = await startNginxCommand(
    [ingress({ name: 'web', rules: [{ host: 'web.example.com', paths: [{}] }] }), service('web'), backend.slice('web')],
    ['--nginx-template', file],
  );
  await nginx.answers('web.example.com', 200);
  expect(await header()).toBe('one');
  const { command } = nginx;

  await edit('<% for (const x of [1, 2) { %>');
  await command.printed(/ERROR: the template is kept as it was: \S*mine\.tmpl:\d+: .+/);
  expect(command.output()).toContain(`mine.tmpl:${await lineNumber('[1, 2)')}: `);
  expect(await header()).toBe('one');

  await edit('<%= it.settings.nobody.knows %>;');
  const rendered = await command.printed(/render failed: \S*mine\.tmpl:(\d+).*another try in/);
  expect(Number(rendered[1])).toBe(await lineNumber('nobody.knows'));
  expect(await header()).toBe('one');

  await edit('add_headr x-mine two;');
  await command.printed(/check failed: unknown directive "add_headr" in line \d+; another try in/);
  expect(await header()).toBe('one');
  expect((await nginx.metrics())['nginx_ingress_controller_config_last_reload_successful']).toBe(0);

  await edit('add_header x-mine three always;');
  await untilHeader('three');
});

test('one that is no template at the start is refused, with its line', async () => {
  await edit('<% const a = ; %>');
  const { code, output } = await runCommand(['nginx', '--manifests', folder, '--nginx-template', file]);
  expect(code).toBe(2);
  expect(output).toMatch(new RegExp(`--nginx-template: \\S*mine\\.tmpl:${await lineNumber('const a = ;')}: `));
});

test('one that is not there is refused', async () => {
  const { code, output } = await runCommand(['nginx', '--manifests', folder, '--nginx-template', `${file}.none`]);
  expect(code).toBe(2);
  expect(output).toContain('ENOENT');
});
