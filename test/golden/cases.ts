/** The golden cases: which there are, and what each of them becomes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Document, isMap, parseAllDocuments, stringify } from 'yaml';
import { ingressFlags } from '../../src/cli/flags/ingress-flags.ts';
import { type TranslateArguments, type Translation, translateManifests } from '../../src/cli/translate.ts';
import { type NginxTranslateOptions, type NginxTranslation, translateToNginx } from '../../src/cli/translate-nginx.ts';
import type { Diagnostic } from '../../src/model/diagnostic.ts';

/** The case that all others are compared with: what they have in common with it is not shown again. */
export const BASE = 'minimal';

export const CASES_FOLDER = import.meta.dirname;

const INPUT = 'in.yaml';
const FILES: ReadonlySet<string> = new Set([INPUT, 'envoy.yaml', 'nginx.conf', 'diagnostics.yaml']);

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
  return withManifests(name, async ({ args, zone, folder }) => {
    const { resources, diagnostics } = await translateManifests(args, { reveal, ...zone });
    return { resources, diagnostics: diagnostics.map((diagnostic) => withoutFolder(diagnostic, folder)) };
  });
}

/** The same for nginx. `emit`: the one that is to read it. */
export async function translateCaseToNginx(
  name: string,
  emit?: NonNullable<NginxTranslateOptions['emit']>,
): Promise<NginxTranslation> {
  return withManifests(name, ({ args, zone }) => translateToNginx(args, { ...(emit && { emit }), ...zone }));
}

interface CaseInput {
  readonly args: TranslateArguments;
  readonly zone: { readonly zone?: string };
  /** Where the manifests are. */
  readonly folder: string;
}

/** The manifests are in a folder of their own, since what the case becomes is YAML too. */
async function withManifests<T>(name: string, use: (input: CaseInput) => Promise<T>): Promise<T> {
  const { flags, manifests } = readInput(readFileSync(join(CASES_FOLDER, name, INPUT), 'utf8'));
  const folder = mkdtempSync(join(tmpdir(), 'golden-'));
  try {
    writeFileSync(join(folder, INPUT), manifests);
    const defaults = Object.entries(ingressFlags).flatMap(([flag, option]) =>
      'default' in option ? [[camelCase(flag), option.default]] : [],
    );
    const args = { ...Object.fromEntries(defaults), endpoint: [], ...flags, manifests: [folder] };
    const zone = typeof flags['zone'] === 'string' ? { zone: flags['zone'] } : {};
    return await use({ args: args as TranslateArguments, zone, folder });
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
  // Every case has the same filters, whose configurations few of them change.
  const { extensions, ...others } = resources;
  const isKnown = JSON.stringify(extensions) === JSON.stringify(base['extensions']);
  return yaml(abbreviate(isKnown ? others : resources, '', known));
}

/** The text of `nginx.conf`. Blocks that are the same in the base case are not shown again, nor is what stands before them all. */
export function showNginxConf(text: string, base: string): string {
  const known = new Set(blocksOf(base));
  const shown = blocksOf(text).map((block) => (known.has(block) ? abbreviateBlock(block) : block));
  return `${shown.join('\n\n')}\n`;
}

/** Servers and upstreams, and first of all what stands before them. */
function blocksOf(text: string): string[] {
  return text.trimEnd().split(/\n\n(?= {4}(?:server|upstream) |stream )/);
}

function abbreviateBlock(block: string): string {
  const [name] = /(?:server_name|upstream) "[^"]*"/.exec(block) ?? [];
  return `# ${name ?? 'the beginning'}: as in ${BASE}`;
}

const LONG = 200;

function abbreviate(value: unknown, key: string, known: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isManyNumbers(value)) return ranges(value);
  const text = JSON.stringify(value);
  if (text.length > LONG && known.has(`${key} ${text}`))
    return [nameOf(value), `as in ${BASE}`].filter(Boolean).join(', ');
  if (Array.isArray(value)) return value.map((item) => abbreviate(item, key, known));
  return Object.fromEntries(Object.entries(value).map(([inner, item]) => [inner, abbreviate(item, inner, known)]));
}

function isManyNumbers(value: object): value is readonly number[] {
  return Array.isArray(value) && value.length > 20 && value.every((item) => typeof item === 'number');
}

/** `1-3, 5` for 1, 2, 3, 5. */
function ranges(numbers: readonly number[]): string {
  const starts = numbers.filter((number, index) => number !== (numbers[index - 1] ?? Number.NaN) + 1);
  const ends = numbers.filter((number, index) => number !== (numbers[index + 1] ?? Number.NaN) - 1);
  return starts.map((start, index) => (start === ends[index] ? `${start}` : `${start}-${ends[index]}`)).join(', ');
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
