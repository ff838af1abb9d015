/** The import rules of biome.json are proven to bite: each folder is planted with imports that it may and may not have. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintPlanted } from './support/boundaries/plant.ts';

interface Rule {
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
}

const rules: Readonly<Record<string, Rule>> = {
  'derive.ts': { allowed: [], forbidden: ['./model/route.ts', 'node:fs', 'yaml'] },
  'der.ts': { allowed: [], forbidden: ['./model/route.ts', 'node:crypto'] },
  'ip-address.ts': { allowed: ['ipaddr.js'], forbidden: ['./model/route.ts', 'node:net'] },
  'controller.ts': {
    allowed: ['./derive.ts', './cluster/state.ts', './ingress/build.ts', './envoy/emit.ts', './xds/store.ts'],
    forbidden: ['./files/source.ts', './cli/main.ts', './envoy/admin.ts', './xds/server.ts', 'node:fs', 'pino'],
  },
  'model/planted.ts': {
    allowed: ['./route.ts', '../derive.ts'],
    forbidden: ['../cluster/state.ts', '../controller.ts', 'node:crypto', 'ipaddr.js'],
  },
  'cluster/planted.ts': {
    allowed: ['./objects.ts', '../derive.ts', '../model/route.ts'],
    forbidden: ['../files/source.ts', '../ingress/build.ts', '../controller.ts', 'node:fs', '@kubernetes/client-node'],
  },
  'ocsp/planted.ts': {
    allowed: [
      './ask.ts',
      '../ip-address.ts',
      '../model/route.ts',
      '@peculiar/asn1-ocsp',
      'node:http',
      'node:dns/promises',
    ],
    forbidden: ['../cluster/state.ts', '../derive.ts', '../ingress/build.ts', '../cli/main.ts', 'ipaddr.js', 'undici'],
  },
  'files/planted.ts': {
    allowed: ['../cluster/objects.ts', '../derive.ts', '../model/route.ts', 'yaml', 'chokidar', 'node:fs/promises'],
    forbidden: ['../ingress/build.ts', '../envoy/emit.ts', '../xds/store.ts', '../cli/main.ts', 'fastify'],
  },
  'kubernetes/planted.ts': {
    allowed: [
      '../cluster/objects.ts',
      '../derive.ts',
      '../model/object-ref.ts',
      '@kubernetes/client-node',
      'node:https',
    ],
    forbidden: [
      '../files/store.ts',
      '../ingress/build.ts',
      '../xds/store.ts',
      '../cli/main.ts',
      '../controller.ts',
      'yaml',
    ],
  },
  'nginx/planted.ts': {
    allowed: ['./quote.ts', '../derive.ts', '../model/route.ts', 'node:crypto', 'node:vm', 'eta'],
    forbidden: ['../envoy/emit.ts', '../ingress/build.ts', '../xds/store.ts', '../cli/main.ts', 'node:fs', 'node:net'],
  },
  'ingress/planted.ts': {
    allowed: ['./host.ts', '../cluster/objects.ts', '../derive.ts', '../model/route.ts', 'node:crypto'],
    forbidden: [
      '../envoy/emit.ts',
      '../xds/store.ts',
      '../files/source.ts',
      '../controller.ts',
      'node:fs',
      'node:fs/promises',
      'node:net',
      'node:http',
      'node:child_process',
      '@kubernetes/client-node',
    ],
  },
  'ingress/annotations/planted.ts': {
    allowed: ['../host.ts', '../declaration/codec.ts', '../../model/route.ts', '../../cluster/objects.ts'],
    // A feature sees no other feature.
    forbidden: ['./cors.ts', '../../envoy/emit.ts', '../../controller.ts', 'node:fs'],
  },
  'envoy/planted.ts': {
    allowed: ['./codec.ts', './filters/cors.ts', '../derive.ts', '../gen/messages.ts', '../model/route.ts'],
    forbidden: [
      '../cluster/objects.ts',
      '../ingress/build.ts',
      '../xds/resource.ts',
      'node:fs',
      'node:child_process',
      '@grpc/grpc-js',
    ],
  },
  'process/planted.ts': {
    allowed: ['./supervisor.ts', 'node:child_process'],
    forbidden: ['../envoy/admin.ts', '../model/route.ts', '../cli/main.ts', 'pino'],
  },
  'envoy/admin.ts': {
    allowed: ['./drain.ts', 'node:child_process', 'node:fs/promises'],
    forbidden: ['../xds/store.ts', '../ingress/build.ts', '../cluster/objects.ts', '@grpc/grpc-js'],
  },
  'xds/planted.ts': {
    allowed: ['./store.ts', '../derive.ts', '../model/object-ref.ts', 'protobufjs/minimal.js'],
    forbidden: [
      '../envoy/emit.ts',
      '../gen/messages.ts',
      '../cluster/objects.ts',
      '../ingress/build.ts',
      '@grpc/grpc-js',
      'node:fs',
      'node:net',
    ],
  },
  'xds/server.ts': {
    allowed: ['./store.ts', '@grpc/grpc-js', 'node:fs', 'node:net'],
    forbidden: ['../envoy/emit.ts', '../ingress/build.ts', '../cluster/objects.ts', '@grpc/proto-loader', 'fastify'],
  },
  'xds/tls-listener.ts': {
    allowed: ['./store.ts', 'node:crypto', 'node:fs', 'node:net', 'node:tls'],
    forbidden: ['../envoy/emit.ts', '../model/route.ts', '@grpc/grpc-js', 'node:http'],
  },
  'admission/planted.ts': {
    allowed: ['./request.ts', '../cluster/objects.ts', '../ingress/build.ts', '../model/route.ts', '../derive.ts'],
    forbidden: [
      '../envoy/emit.ts',
      '../xds/store.ts',
      '../kubernetes/client.ts',
      '../console/metrics.ts',
      '../controller.ts',
      'node:fs',
      'node:https',
      'node:child_process',
    ],
  },
  'admission/server.ts': {
    allowed: ['./reviewer.ts', 'node:https', 'node:tls'],
    forbidden: ['../cluster/objects.ts', '../ingress/build.ts', '../envoy/emit.ts', '../derive.ts', 'fastify'],
  },
  'console/planted.ts': {
    allowed: ['../model/route.ts', '../xds/store.ts', 'fastify', 'prom-client'],
    forbidden: ['../ingress/build.ts', '../envoy/emit.ts', '../cluster/state.ts', '@grpc/grpc-js'],
  },
  'cli/planted.ts': {
    allowed: [
      '../controller.ts',
      '../xds/server.ts',
      '../envoy/admin.ts',
      '../process/supervisor.ts',
      '../files/source.ts',
      'yargs',
      'node:fs',
    ],
    forbidden: ['@kubernetes/client-node', '@grpc/grpc-js'],
  },
};

const importRule = 'style/noRestrictedImports';

/** One import per line: allowed ones first. */
function plant(rule: Rule): string {
  return [...rule.allowed, ...rule.forbidden].map((specifier) => `import '${specifier}';\n`).join('');
}

describe('import rules', () => {
  const findings = lintPlanted(
    Object.fromEntries(Object.entries(rules).map(([file, rule]) => [`src/${file}`, plant(rule)])),
  );

  it.each(Object.entries(rules))('of %s', (file, rule) => {
    const refused = findings.filter((finding) => finding.file === `src/${file}` && finding.rule === importRule);
    const specifiers = [...rule.allowed, ...rule.forbidden];
    expect(refused.map(({ line }) => specifiers[line - 1])).toEqual(rule.forbidden);
  });

  it('exist for every folder and file of src', () => {
    const ruled = new Set(Object.keys(rules).map((file) => file.split('/')[0]));
    const present = readdirSync(join(import.meta.dirname, '../src')).filter((name) => !name.endsWith('.test.ts'));
    expect(present.filter((name) => name !== 'gen' && !ruled.has(name))).toEqual([]);
  });

  it('hold for type imports, re-exports and dynamic imports, and not for tests', () => {
    const source = [
      `import type { A } from '../envoy/a.ts';`,
      `export type { B } from '../envoy/b.ts';`,
      `export const c = import('../envoy/c.ts');`,
    ].join('\n');
    const found = lintPlanted({ 'src/xds/planted.ts': source, 'src/xds/planted.test.ts': source });
    const refused = found.filter(({ rule }) => rule === importRule);
    expect(refused.map(({ file, line }) => `${file}:${line}`)).toEqual(
      [1, 2, 3].map((line) => `src/xds/planted.ts:${line}`),
    );
  });
});

describe('rules of the linter', () => {
  const findings = lintPlanted({
    'src/ingress/a.ts': `import { b } from './b.ts';\nexport const a = (): number => b();\n`,
    'src/ingress/b.ts': `import { a } from './a.ts';\nexport const b = (): number => a();\n`,
    'src/ingress/clock.ts': `export const later = (run: () => void) => setTimeout(run, 1);\nconsole.log(later);\n`,
    'src/files/floating.ts': `async function read(): Promise<number> {\n  return 1;\n}\nexport function go(): void {\n  read();\n}\n`,
    'src/files/default.ts': `export default 1;\n`,
    'src/files/barrel.ts': `export * from './floating.ts';\nexport { go } from './floating.ts';\n`,
    'src/files/focused.test.ts': `import { it } from 'vitest';\nit.only('one', () => {});\nit.skip('two', () => {});\n`,
  });

  it.each([
    ['import cycles', 'src/ingress/a.ts', 'suspicious/noImportCycles'],
    ['clocks and logs in pure code', 'src/ingress/clock.ts', 'style/noRestrictedGlobals'],
    ['floating promises', 'src/files/floating.ts', 'nursery/noFloatingPromises'],
    ['default exports', 'src/files/default.ts', 'style/noDefaultExport'],
    ['barrels', 'src/files/barrel.ts', 'performance/noBarrelFile'],
    ['focused tests', 'src/files/focused.test.ts', 'suspicious/noFocusedTests'],
    ['skipped tests', 'src/files/focused.test.ts', 'suspicious/noSkippedTests'],
  ])('refuse %s', (_, file, rule) => {
    expect(findings.filter((finding) => finding.file === file).map((finding) => finding.rule)).toContain(rule);
  });
});
