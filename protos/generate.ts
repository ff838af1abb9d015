/**
 * `npm run generate`: writes `src/gen` from the schema that the pinned Envoy binary carries.
 *
 * `--check` writes nothing, and exits 1 naming the files that a generation would change.
 * `--envoy-path FILE` reads that binary instead; it must be of the pinned version.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import protobuf from 'protobufjs';
import { findPinnedEnvoy } from '../src/envoy/binary.ts';
import { decodeDescriptorSet } from './descriptor.ts';
import { extractDescriptors } from './extract.ts';
import { declarations, prune, reachable } from './prune.ts';
import { rootMessages, rootServices } from './roots.ts';
import { writeRules } from './rules.ts';
import { writeTypes } from './types.ts';

export interface GeneratedFile {
  /** Name in `src/gen`. */
  readonly name: string;
  readonly content: Uint8Array;
}

const folder = new URL('../src/gen/', import.meta.url);

/** The content of `src/gen` for an Envoy binary; equal binaries give equal bytes. */
export function generate(binary: Buffer): GeneratedFile[] {
  const set = decodeDescriptorSet(joinFiles(extractDescriptors(binary)));
  const declared = declarations(set.files);
  const names = reachable(declared, [...rootMessages, ...rootServices]);
  const types = writeTypes(declared, names, rootMessages);
  const descriptors = set.encode(prune(set.files, names));
  return [
    { name: 'descriptors.binpb', content: descriptors },
    { name: 'messages.ts', content: Buffer.from(types) },
    { name: 'rules.json', content: Buffer.from(writeRules(descriptors)) },
  ];
}

/** Names of the files in `src/gen` that differ from `files`, or are missing. */
export function staleFiles(files: readonly GeneratedFile[]): string[] {
  return files.filter((file) => !isCurrent(file)).map((file) => file.name);
}

function isCurrent(file: GeneratedFile): boolean {
  try {
    return readFileSync(new URL(file.name, folder)).equals(file.content);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** A serialized `FileDescriptorSet`: field 1, repeated. */
function joinFiles(files: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const file of files.values()) writer.uint32((1 << 3) | 2).bytes(file);
  return writer.finish();
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, 'envoy-path': { type: 'string' } } });
  const path = values['envoy-path'] ?? (await findPinnedEnvoy({ onProgress: (text) => console.error(text) })).path;
  const files = generate(readFileSync(path));
  const stale = staleFiles(files);
  if (values.check) {
    for (const name of stale) console.error(`src/gen/${name} is stale: run \`npm run generate\``);
    process.exitCode = stale.length > 0 ? 1 : 0;
    return;
  }
  for (const file of files) writeFileSync(new URL(file.name, folder), file.content);
  console.log(
    stale.length > 0 ? `wrote ${stale.map((name) => `src/gen/${name}`).join(', ')}` : 'src/gen is up to date',
  );
}

if (import.meta.main) await main();
