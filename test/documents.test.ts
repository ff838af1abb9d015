import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documents } from '../docs/generate.ts';
import { flagGroups } from '../src/cli/flags/table.ts';
import { diagnosticCodes } from '../src/model/diagnostic.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** Flags that stand in no table: of the command line itself, of kubectl, and of the benchmark. */
const otherFlags = new Set(['--help', '--patch-file', '--type', '--from', '--cluster', '--server-side']);

describe('documents', () => {
  it.each(pages)('%s links to what exists', (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target]) => target ?? '');
    const missing = targets.filter((target) => !existsSync(join(root, dirname(page), target)));
    expect(missing).toEqual([]);
  });

  it.each(pages)('%s names flags that exist', (page) => {
    const flags = new Set(flagGroups.flatMap((group) => Object.keys(group.flags).map((name) => `--${name}`)));
    const named = [...read(page).matchAll(/(?<![\w-])--[a-z][a-z0-9-]+/g)].map(([flag]) => flag);
    expect(named.filter((flag) => !flags.has(flag) && !otherFlags.has(flag))).toEqual([]);
  });

  it.each(pages)('%s names npm scripts that exist', (page) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/(?:^ {4}|`)npm (?:run (?:-s )?)?([a-z:]+)/gm)].map(
      ([, script]) => script ?? '',
    );
    expect(named.filter((script) => script !== 'ci' && !(script in scripts))).toEqual([]);
  });

  it('every decision is listed', () => {
    const index = read('docs/adr/README.md');
    const decisions = readdirSync(join(root, 'docs/adr')).filter((name) => /^\d{4}-/.test(name));
    expect(decisions.filter((name) => !index.includes(`(${name})`))).toEqual([]);
  });

  it.each(Object.keys(documents))('docs/%s is what the generator writes', async (name) => {
    expect(read(join('docs', name))).toBe(await documents[name]?.());
  });

  it('docs/diagnostics.md explains every code', () => {
    const text = read('docs/diagnostics.md');
    expect(Object.keys(diagnosticCodes).filter((code) => !text.includes(`| \`${code}\` |`))).toEqual([]);
  });
});
