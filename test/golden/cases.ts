/** The golden cases: which there are, and what each of them becomes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Document, isMap, parseAllDocuments, stringify } from 'yaml';
import { ingressFlags } from '../../src/cli/flags/ingress-flags.ts';
import { type TranslateArguments, type Translation, translateManifests } from '../../src/cli/translate.ts';
import type { Diagnostic } from '../../src/model/diagnostic.ts';

/** The case that all others are compared with: what they have in common with it is not shown again. */
export const BASE = 'minimal';

export const CASES_FOLDER = import.meta.dirname;

const INPUT = 'in.yaml';
const FILES: ReadonlySet<string> = new Set([INPUT, 'envoy.yaml', 'diagnostics.yaml']);

/** Every folder here that has an input, sorted. */
export function caseNames(): string[] {
  return folders().filter((name) => readdirSync(join(CASES_FOLDER, name)).includes(INPUT));
}

/** Folders that are no case, and files that no case has; paths below the folder of cases. */
export function orphans(): string[] {
  const cases = caseNames();
  const files = cases.flatMap((name) => readdirSync(join(CASES_FOLDER, name)).map((file) => join(name, file)));
  return [...folders().filter((name) => !cases.includes(name)), ...files.filter((file) => !FILES.has(basename(file)))];
}

function folders(): string[] {
  return readdirSync(CASES_FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}

/** Runs `in.yaml` of a case through `translate`. `reveal`: with private keys and the generated certificate. */
export async function translateCase(name: string, { reveal = false } = {}): Promise<Translation> {
  const { flags, manifests } = readInput(readFileSync(join(CASES_FOLDER, name, INPUT), 'utf8'));
  // A folder of its own, since what the case becomes is YAML too.
  const folder = mkdtempSync(join(tmpdir(), 'golden-'));
  try {
    writeFileSync(join(folder, INPUT), manifests);
    const defaults = Object.entries(ingressFlags).flatMap(([flag, option]) =>
      'default' in option ? [[camelCase(flag), option.default]] : [],
    );
    const args = { ...Object.fromEntries(defaults), endpoint: [], ...flags, manifests: [folder] };
    const zone = typeof flags['zone'] === 'string' ? { zone: flags['zone'] } : {};
    const { resources, diagnostics } = await translateManifests(args as TranslateArguments, { reveal, ...zone });
    return { resources, diagnostics: diagnostics.map((diagnostic) => withoutFolder(diagnostic, folder)) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Where the folder lies is of no interest. */
function withoutFolder(diagnostic: Diagnostic, folder: string): Diagnostic {
  return JSON.parse(JSON.stringify(diagnostic).replaceAll(`${folder}/`, '')) as Diagnostic;
}

/**
 * The first document of an input may be `kind: Options` with flags of `translate` and their values, and the zone of the proxy. It
 * is blanked out of the manifests, so that the lines of all others stay where they are.
 */
function readInput(text: string): { flags: Readonly<Record<string, unknown>>; manifests: string } {
  const first: Document.Parsed | undefined = parseAllDocuments(text)[0];
  if (!isMap(first?.contents) || first.get('kind') !== 'Options') return { flags: {}, manifests: text };
  const { kind: _, ...options } = first.toJS() as Readonly<Record<string, unknown>>;
  for (const flag of Object.keys(options)) {
    if (!(flag in ingressFlags || flag === 'endpoint' || flag === 'zone'))
      throw new Error(`there is no flag --${flag}`);
  }
  const [, , end = 0] = first.range ?? [];
  const blank = text.slice(0, end).replaceAll(/[^\n]/g, '');
  return {
    flags: Object.fromEntries(Object.entries(options).map(([flag, value]) => [camelCase(flag), value])),
    manifests: blank + text.slice(end),
  };
}

/**
 * The text of `envoy.yaml`. What is long and the same in the base case, under the same key, is not shown again but named, so that
 * a change of what all cases share changes one file.
 */
export function showResources(resources: Translation['resources'], base: Translation['resources']): string {
  const known = new Set<string>();
  visit(base, '', (key, text) => void known.add(`${key} ${text}`));
  return yaml(abbreviate(resources, '', known));
}

const LONG = 200;

function abbreviate(value: unknown, key: string, known: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  if (text.length > LONG && known.has(`${key} ${text}`))
    return [nameOf(value), `as in ${BASE}`].filter(Boolean).join(', ');
  if (Array.isArray(value)) return value.map((item) => abbreviate(item, key, known));
  return Object.fromEntries(Object.entries(value).map(([inner, item]) => [inner, abbreviate(item, inner, known)]));
}

/** Every object and list below a value; the items of a list have its key. */
function visit(value: unknown, key: string, found: (key: string, text: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  found(key, JSON.stringify(value));
  for (const [inner, item] of Object.entries(value)) visit(item, Array.isArray(value) ? key : inner, found);
}

/** The text of `diagnostics.yaml`. */
export function showDiagnostics(diagnostics: Translation['diagnostics']): string {
  return yaml(
    diagnostics.map(({ severity, code, ref, field, message, source }) => ({
      severity,
      code,
      ...(ref && { object: [ref.kind, [ref.namespace, ref.name].filter(Boolean).join('/')].join(' ') }),
      ...(field !== undefined && { field }),
      ...(source && { position: `${source.file}:${source.line}:${source.column}` }),
      message,
    })),
  );
}

function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Of a load assignment it is the name of the cluster; many parts have none. */
function nameOf(value: object): string | undefined {
  const { name, cluster_name } = value as { readonly name?: string; readonly cluster_name?: string };
  return name ?? cluster_name;
}

function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
