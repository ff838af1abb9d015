import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { findPinnedEnvoy } from '../src/envoy/binary.ts';
import { decodeDescriptorSet } from './descriptor.ts';
import { extractDescriptors } from './extract.ts';
import { generate, staleFiles } from './generate.ts';
import { declarations, prune, reachable } from './prune.ts';
import { rootMessages } from './roots.ts';

let binary: Buffer;
const committed = (name: string) => readFileSync(new URL(`../src/gen/${name}`, import.meta.url));
const committedSet = () => decodeDescriptorSet(committed('descriptors.binpb'));

beforeAll(async () => {
  binary = readFileSync((await findPinnedEnvoy({ onProgress: console.log })).path);
}, 300_000);

describe('generate', () => {
  test('changes nothing in src/gen', () => {
    expect(staleFiles(generate(binary))).toEqual([]);
  });

  test('names what has changed', () => {
    const files = generate(binary).map((file) => ({
      ...file,
      content: Buffer.concat([file.content, Buffer.from(' ')]),
    }));
    expect(staleFiles(files)).toEqual(['descriptors.binpb', 'messages.ts', 'rules.json']);
    expect(staleFiles([{ name: 'no-such-file.ts', content: new Uint8Array() }])).toEqual(['no-such-file.ts']);
  });
});

describe('extractDescriptors', () => {
  test('finds every file that another one imports, each exactly as long as its descriptor is', () => {
    const files = extractDescriptors(binary);
    expect(files.size).toBe(559);
    const set = decodeDescriptorSet(Buffer.concat([...files.values()].map((file) => frame(file))));
    const missing = set.files.flatMap((file) => file.dependency).filter((name) => !files.has(name));
    expect(missing).toEqual([]);
    for (const file of set.files) expect(set.encode([file])).toHaveLength(frame(files.get(file.name)!).length);
  });

  test('takes the descriptor where the name alone occurs too', () => {
    const descriptor = Buffer.from('\x0a\x09a/b.proto\x12\x01a\x62\x06proto3', 'latin1');
    const lookalike = Buffer.from('\x0a\x09a/b.proto\x12\xff', 'latin1');
    const found = extractDescriptors(Buffer.concat([lookalike, Buffer.alloc(3), descriptor, Buffer.from('\x0a\x01x')]));
    expect([...found]).toEqual([['a/b.proto', descriptor]]);
  });
});

describe('prune', () => {
  test('keeps what the roots reach, and drops the rest', () => {
    const { files } = committedSet();
    const names = reachable(declarations(files), ['envoy.config.endpoint.v3.ClusterLoadAssignment']);
    const left = declarations(prune(files, names));
    expect(left.has('envoy.config.core.v3.Address')).toBe(true);
    expect(left.has('envoy.config.listener.v3.Listener')).toBe(false);
  });

  test('refuses a root that the schema does not have', () => {
    expect(() => reachable(new Map(), ['envoy.Misspelt'])).toThrow('envoy.Misspelt is not in the schema of this Envoy');
  });
});

describe('the committed set', () => {
  test('is sorted, complete, and has every root', () => {
    const { files } = committedSet();
    const names = files.map((file) => file.name);
    expect(names).toEqual([...names].sort());
    expect(files.flatMap((file) => file.dependency).filter((name) => !names.includes(name))).toEqual([]);
    const declared = declarations(files);
    expect(rootMessages.filter((name) => !declared.has(name))).toEqual([]);
  });

  test('keeps the options: rules of validation, and what is sensitive', () => {
    const certificate = declarations(committedSet().files).get(
      'envoy.extensions.transport_sockets.tls.v3.TlsCertificate',
    );
    const fields = certificate?.kind === 'message' ? certificate.message.field : [];
    const key = fields.find((field) => field.name === 'private_key');
    expect(key?.options).toMatchObject({ '.udpa.annotations.sensitive': true });
  });
});

/** A file as a member of a serialized `FileDescriptorSet`. */
function frame(file: Uint8Array): Buffer {
  const length: number[] = [];
  for (let rest = file.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([0x0a, ...length]), file]);
}
