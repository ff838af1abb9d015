import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { tlsSecret } from '../../test/support/manifests.ts';
import { makePair } from '../../test/support/pki.ts';
import { camelCase } from './flags/flag.ts';
import { ingressFlags } from './flags/ingress-flags.ts';
import { ConfigurationError } from './flags.ts';
import { type TranslateArguments, translate } from './translate.ts';
import { translateToNginx } from './translate-nginx.ts';

const MANIFESTS = join(import.meta.dirname, '../../examples/quickstart');
const folder = mkdtempSync(join(tmpdir(), 'translate-nginx-'));
afterAll(() => rmSync(folder, { recursive: true }));

const defaults = Object.fromEntries(
  Object.entries(ingressFlags).flatMap(([flag, option]) =>
    'default' in option ? [[camelCase(flag), option.default]] : [],
  ),
);

function args(more: Partial<TranslateArguments> = {}): TranslateArguments {
  return {
    ...defaults,
    endpoint: [],
    manifests: [MANIFESTS],
    proxy: 'nginx',
    output: 'yaml',
    ...more,
  } as TranslateArguments;
}

function template(text: string): string {
  const file = join(folder, 'nginx.conf.eta');
  writeFileSync(file, text);
  return file;
}

test('the same manifests give the same text, and no key', async () => {
  const pair = await makePair(['shop.example.com']);
  writeFileSync(join(folder, 'secret.yaml'), stringify(tlsSecret('shop-tls', pair)));
  const [one, two] = await Promise.all([1, 2].map(() => translateToNginx(args({ manifests: [MANIFESTS, folder] }))));
  expect(one?.text).toContain('server_name "shop.example.com";');
  expect(one?.text).toBe(two?.text);
  expect(JSON.stringify(one?.config)).toBe(JSON.stringify(two?.config));
  expect(`${one?.text}${JSON.stringify(one)}`).not.toMatch(/PRIVATE KEY|BEGIN/);
});

test('a template of a user makes the text, and what is wrong with it is told with its line', async () => {
  const own = template("# mine\n<%~ include('@tls', {}) %>");
  expect((await translateToNginx(args({ nginxTemplate: own }))).text).toMatch(/^# mine\n\n {4}ssl_protocols/);
  const wrong = template('one\n<%= it.settings.nothing.at.all %>');
  const failure = translateToNginx(args({ nginxTemplate: wrong }));
  await expect(failure).rejects.toThrow(`--nginx-template: ${wrong}:2: Cannot read properties of undefined`);
  await expect(failure).rejects.toBeInstanceOf(ConfigurationError);
  const missing = translateToNginx(args({ nginxTemplate: join(folder, 'none') }));
  await expect(missing).rejects.toThrow(/--nginx-template: ENOENT.*none/);
});

test('a template is for nginx', async () => {
  const both = translate(args({ proxy: 'envoy', nginxTemplate: template('') }));
  await expect(both).rejects.toThrow('--nginx-template needs --proxy nginx');
});
