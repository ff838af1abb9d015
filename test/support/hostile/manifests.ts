/** Files that nobody should write, each with what a user is told about it. */
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DiagnosticCode } from '../../../src/model/diagnostic.ts';

export interface HostileFile {
  /** Below the folder of manifests. */
  readonly path: string;
  readonly content: string | Uint8Array;
  /** The size it is given, in bytes, whatever stands in it. */
  readonly size?: number;
  readonly told: readonly Told[];
}

export interface Told {
  readonly code: DiagnosticCode;
  /** The text in the file on which the position points; the first line and column if absent. */
  readonly at?: string;
}

/** The Ingress `NAME`, for the host `NAME.example.com`; `tls` names a Secret. */
function ingress(name: string, paths: string, more: { readonly host?: string; readonly tls?: string } = {}): string {
  const { host = `"${name}.example.com"`, tls } = more;
  return [
    'apiVersion: networking.k8s.io/v1',
    'kind: Ingress',
    `metadata: {name: ${name}}`,
    'spec:',
    '  ingressClassName: nginx',
    ...(tls === undefined ? [] : [`  tls: ${tls}`]),
    '  rules:',
    `    - host: ${host}`,
    '      http:',
    '        paths:',
    paths,
    '',
  ].join('\n');
}

function path(text: string): string {
  return `          - {path: ${text}, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}`;
}

function service(name: string, port: string): string {
  return `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec:\n  ports:\n    - port: ${port}\n`;
}

function configMap(name: string, rest: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}\n`;
}

function tlsSecret(name: string, chain: string, key: string): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return `apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata: {name: ${name}}\ndata:\n  tls.crt: ${base64(chain)}\n  tls.key: ${base64(key)}\n`;
}

function pem(label: string, body: string): string {
  return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
}

function numbered(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('\n');
}

const NOTHING: readonly Told[] = [];

export const HOSTILE_FILES: readonly HostileFile[] = [
  // YAML
  {
    path: 'alias-cycle.yaml',
    content: 'apiVersion: v1\nkind: Service\nmetadata: &self\n  name: cycle\n  labels: *self\n',
    told: [{ code: 'FileInvalid' }],
  },
  {
    path: 'alias-growth.yaml',
    content: `a0: &a0 [x]\n${numbered(30, (index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}, *a${index}]`)}\n`,
    told: [{ code: 'FileInvalid' }],
  },
  {
    path: 'deep.yaml',
    content: `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
    told: [{ code: 'FileInvalid' }],
  },
  {
    path: 'duplicate-key.yaml',
    content: 'apiVersion: v1\nkind: Service\nmetadata:\n  name: first\n  "name": second\n',
    told: [{ code: 'FileInvalid', at: '"name"' }],
  },
  {
    path: 'zero-byte.yaml',
    content: 'apiVersion: v1\nkind: \0Service\n',
    told: [{ code: 'FileInvalid', at: '\0' }],
  },
  // bytes
  { path: 'enormous.yaml', content: 'a: b\n', size: 50 * 1024 * 1024, told: [{ code: 'FileUnreadable' }] },
  {
    path: 'binary.yaml',
    content: Uint8Array.from({ length: 4096 }, (_, index) => (index * 151) % 256),
    told: [{ code: 'FileUnreadable' }],
  },
  {
    path: 'latin1.yaml',
    content: Buffer.from('apiVersion: v1\nkind: Service\nmetadata: {name: caf\xe9}\n', 'latin1'),
    told: [{ code: 'FileUnreadable' }],
  },
  // many
  {
    path: 'many-paths.yaml',
    content: ingress(
      'wide',
      numbered(5_000, (index) => path(`/p${index}`)),
    ),
    told: NOTHING,
  },
  {
    path: 'many-documents.yaml',
    content: numbered(10_000, (index) => `---\n${service(`many-${index}`, '80')}`),
    told: NOTHING,
  },
  {
    path: 'many-invalid.yaml',
    content: `apiVersion: v1\nkind: List\nitems:\n${numbered(5_000, (index) => `  - {apiVersion: v1, kind: Service, metadata: {name: bad-${index}}, spec: {ports: [{port: 0}]}}`)}\n`,
    told: [{ code: 'ObjectInvalid', at: '0}]}}' }],
  },
  {
    path: 'many-names.yaml',
    content: ingress('hosts', path('/'), {
      tls: `[{secretName: nowhere, hosts: [${Array.from({ length: 50_000 }, (_, index) => `h${index}.example.com`).join(', ')}]}]`,
    }),
    told: [{ code: 'SecretNotFound' }],
  },
  {
    path: 'long-annotation.yaml',
    content: configMap('long', `  annotations:\n    long: "${'x'.repeat(5_000_000)}"`),
    told: NOTHING,
  },
  // names
  {
    path: 'prototype.yaml',
    content: configMap(
      'prototype',
      [
        '  annotations:',
        '    __proto__: polluted',
        '    constructor: polluted',
        'data:',
        '  __proto__: polluted',
        '  toString: polluted',
        '---',
        service('constructor', '80'),
        '---',
        'apiVersion: constructor',
        'kind: __proto__',
        'metadata: {name: hasownproperty}',
        '---',
        ingress('constructor', path('/').replace('name: web', 'name: constructor'), { host: 'constructor' }),
      ].join('\n'),
    ),
    told: NOTHING,
  },
  {
    path: 'prototype-name.yaml',
    content: service('__proto__', '80'),
    told: [{ code: 'ObjectInvalid', at: '__proto__' }],
  },
  { path: 'unicode-name.yaml', content: service('wéb', '80'), told: [{ code: 'ObjectInvalid', at: 'wéb' }] },
  {
    path: 'host-with-spaces.yaml',
    content: ingress('spaces', path('/'), { host: '"a b.example.com"' }),
    told: [{ code: 'IngressHostInvalid', at: '"a b' }],
  },
  {
    path: 'control-characters.yaml',
    content: ingress('control', path('"/a\\u0001\\r\\nb"')),
    told: [{ code: 'IngressPathInvalid', at: '"/a\\u0001' }],
  },
  // ports
  { path: 'port-zero.yaml', content: service('zero', '0'), told: [{ code: 'ObjectInvalid', at: '0\n' }] },
  { path: 'port-negative.yaml', content: service('negative', '-1'), told: [{ code: 'ObjectInvalid', at: '-1\n' }] },
  { path: 'port-high.yaml', content: service('high', '99999'), told: [{ code: 'ObjectInvalid', at: '99999' }] },
  { path: 'port-text.yaml', content: service('text', '"http\\n"'), told: [{ code: 'ObjectInvalid', at: '"http' }] },
  // certificates
  {
    path: 'bad-pem.yaml',
    content: `${tlsSecret('bad-pem', pem('CERTIFICATE', 'bm8gY2VydGlmaWNhdGU='), 'no key')}---\n${ingress(
      'bad-pem',
      path('/'),
      { tls: '[{hosts: [bad-pem.example.com, BAD-PEM.example.com, bad-pem.example.com], secretName: bad-pem}]' },
    )}`,
    told: [{ code: 'SecretInvalid', at: 'data:\n' }],
  },
  {
    path: 'long-key.yaml',
    content: `${tlsSecret('long-key', pem('CERTIFICATE', 'AAAA'.repeat(4_096)), pem('PRIVATE KEY', 'AAAA'.repeat(4_096)))}---\n${ingress(
      'long-key',
      path('/'),
      { tls: '[{hosts: [long-key.example.com], secretName: long-key}]' },
    )}`,
    told: [{ code: 'SecretInvalid', at: 'data:\n' }],
  },
];

export function writeHostileFile(folder: string, { path: name, content, size }: HostileFile): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  if (size !== undefined) truncateSync(file, size);
}

/** Links that lead to themselves, in circles, to nowhere, and out of the folder. */
export function writeHostileLinks(folder: string): void {
  mkdirSync(join(folder, 'links/deeper'), { recursive: true });
  symlinkSync('self.yaml', join(folder, 'links/self.yaml'));
  symlinkSync('there.yaml', join(folder, 'links/back.yaml'));
  symlinkSync('back.yaml', join(folder, 'links/there.yaml'));
  symlinkSync('..', join(folder, 'links/deeper/up'));
  symlinkSync('nowhere.yaml', join(folder, 'links/nowhere.yaml'));
  symlinkSync('/dev/zero', join(folder, 'links/device.yaml'));
  symlinkSync('/proc/self/mem', join(folder, 'links/memory.yaml'));
}

/** `file:line:column code`, as the log says it. */
export function expectedReports(folder: string, { path: name, content, told }: HostileFile): string[] {
  return told.map(({ code, at }) => {
    const text = typeof content === 'string' ? content : '';
    const before = at === undefined ? '' : text.slice(0, text.indexOf(at));
    const lines = before.split('\n');
    return `${join(folder, name)}:${lines.length}:${(lines.at(-1) ?? '').length + 1} ${code}`;
  });
}
