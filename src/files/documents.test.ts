import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { parseTree, parseValue, splitDocuments } from './documents.ts';
import { convertOldIngress } from './old-ingress.ts';
import { createPositions, offsetOf } from './positions.ts';

describe('splitDocuments', () => {
  it('cuts at markers and keeps what belongs to a document', () => {
    const text = '# c\n%YAML 1.2\n---\na: 1\n...\n\n# x\r\n---\r\nb: |\n  t\n---\n--- c\n---d: 1\n...\n';
    expect(splitDocuments(text)).toEqual([
      { text: '# c\n%YAML 1.2\n---\na: 1\n...\n', startLine: 0 },
      { text: '\n# x\r\n---\r\nb: |\n  t\n', startLine: 5 },
      { text: '---\n', startLine: 10 },
      { text: '--- c\n---d: 1\n...\n', startLine: 11 },
    ]);
    expect(splitDocuments('')).toEqual([]);
  });

  it('sees the documents that the YAML library sees', () => {
    const line = fc.constantFrom(
      '---',
      '--- ',
      'a: 1',
      '# c',
      '',
      '...',
      'b: |\n  text\n  --- x',
      '- x',
      'key:\n  - z',
    );
    fc.assert(
      fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), (lines, newline) => {
        const text = lines.join('\n').replaceAll('\n', newline);
        const documents = splitDocuments(text);
        expect(documents.map((document) => document.text).join('')).toBe(text);
        const whole = parseAllDocuments(text);
        if (!Array.isArray(whole) || whole.some(({ errors }) => errors.length > 0)) return;
        const values = documents.map((document) => {
          const parsed = parseValue(document.text);
          return 'value' in parsed ? (parsed.value ?? null) : parsed;
        });
        const all = whole.map((document) => document.toJS() as unknown);
        expect(values.filter((value) => value !== null)).toEqual(all.filter((value) => value !== null));
      }),
      { numRuns: 500 },
    );
  });
});

describe('parseValue', () => {
  it.each([
    ['text that looks like a boolean', 'a: on\nb: "on"\nc: No', { a: true, b: 'on', c: false }],
    ['single letters that stand for a boolean', '[y, Y, n, N, "y", yy]', [true, true, false, false, 'y', 'yy']],
    ['octal numbers', '[010, 0100, -010, +010, 0o17, 007, 0_7]', [8, 64, -8, 8, 15, 7, 7]],
    ['what is no octal number', '[08, 019, 08.5, 0]', [8, 19, 8.5, 0]],
    ['binary and hexadecimal numbers', '[0b11, -0B11, 0x1F, 0X_f, 0x1e3]', [3, -3, 31, 15, 483]],
    ['numbers with underscores', '[1_000, 1__0_, 1_0.5, .5_0, 1_0e2]', [1000, 10, 10.5, 0.5, 1000]],
    [
      'what is no number',
      '[1:30, 0b12, 0x, _1, 1-1, 1.2.3, 80a, 1e]',
      ['1:30', '0b12', '0x', '_1', '1-1', '1.2.3', '80a', '1e'],
    ],
    ['merge keys', 'x: &a {p: 1, q: 1}\nz:\n  <<: *a\n  q: 2', { x: { p: 1, q: 1 }, z: { p: 1, q: 2 } }],
    ['JSON with tabs', '{\n\t"a": [\n\t\t1\n\t]\n}', { a: [1] }],
    ['times as text', 'a: 2026-03-01T12:00:00Z', { a: '2026-03-01T12:00:00Z' }],
    ['Windows line ends', 'a: 1\r\nb:\r\n  - x\r\n', { a: 1, b: ['x'] }],
    ['nothing', '# only a comment\n', undefined],
    ['as many levels as anybody needs', `${'['.repeat(99)}${']'.repeat(99)}`, expect.any(Array)],
    ['keys that are no text', '1: a\non: b\n__proto__: c', JSON.parse('{"1": "a", "true": "b", "__proto__": "c"}')],
    ['a hundred aliases', `a: &a 1\nb: [${'*a,'.repeat(100)}]`, { a: 1, b: Array(100).fill(1) }],
  ])('reads %s', (_, text, value) => {
    expect(parseValue(text)).toMatchObject({ value });
  });

  it.each([
    ['a missing quote', 'a: 1\nb: "hunter2\n', 'Missing closing "quote', 17],
    ['reserved characters', 'a: @x', 'Plain value cannot start with reserved character @', 3],
    ['duplicate keys', 'a: 1\nb:\n  c: 1\n  "c": 2', 'The key "c" stands twice in the same map', 17],
    ['two JSON values', '{"a":1}\n{"b":2}', 'Unexpected flow-map-start at node end', 8],
    ['tags', 'a: !!js/function "x"', 'Unresolved tag: tag:yaml.org,2002:js/function', 3],
    ['keys that are maps', '? {a: 1}\n: x', 'A key must be a scalar, not a map or list', 2],
    ['unknown anchors', 'a: *nope', 'The alias *nope has no anchor', 3],
    ['circles', 'a: &x\n  b: *x', 'Aliases that contain themselves, or expand to too many values', 0],
    ['a zero byte', 'a: \0', 'A zero byte: this is no text', 3],
    ['deep nesting', '['.repeat(5_000_000), 'Nested too deeply', 0],
    ['nesting beyond the stack', `${'[x,'.repeat(950)}${']'.repeat(950)}`, 'Nested too deeply', expect.any(Number)],
    ['deep block nesting', `a: 1\n${'- '.repeat(2_000_000)}`, 'Nested too deeply', 0],
  ])('refuses %s', (_, text, message, offset) => {
    expect(parseValue(text)).toEqual({ fault: { message, offset } });
  });

  it('refuses documents that grow exponentially, at once', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}]`);
    expect(parseValue(['l0: &l0 [x]', ...levels].join('\n'))).toMatchObject({
      fault: { message: 'More than 100 aliases' },
    });
    const wide = `a: &a [${'1,'.repeat(20_000)}]\nb: [${'*a,'.repeat(90)}]`;
    expect(parseValue(wide)).toMatchObject({ fault: { message: /too many values/ } });
  });

  it('never quotes what a Secret may hold', () => {
    const text = 'data:\n  key: "aHVudGVyMg==" aHVudGVyMg==\n';
    expect(JSON.stringify(parseValue(text))).not.toContain('aHVud');
  });

  it('reads any value that was written as YAML or JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 })), (value) => {
        for (const text of [JSON.stringify(value), stringify(value, { version: '1.1' })]) {
          const read = parseValue(text);
          if (!text.includes('\0'))
            expect(JSON.stringify('value' in read ? read.value : read)).toBe(JSON.stringify(value));
        }
      }),
    );
  });
});

describe('offsetOf', () => {
  const text = `metadata:
  name: web
  annotations:
    nginx.ingress.kubernetes.io/rewrite-target: /
spec: &spec
  rules:
    - host: a.example.com
    -
      http: {paths: [{path: /x, backend: {}}]}
other: *spec
text: |
  many
  words
none:
"quoted": 'q'
`;
  const tree = parseTree(text);

  it.each([
    ['', 0, 0],
    ['metadata.name', 1, 8],
    ['metadata.annotations', 2, 2],
    ['metadata.annotations.nginx.ingress.kubernetes.io/rewrite-target', 3, 48],
    ['metadata.annotations["nginx.ingress.kubernetes.io/rewrite-target"]', 3, 48],
    ['metadata.annotations[nginx.ingress.kubernetes.io/rewrite-target]', 3, 48],
    ['metadata.namespace', 0, 0],
    ['spec.rules[0].host', 6, 12],
    ['spec.rules[1].http.paths[0].path', 8, 28],
    ['spec.rules[1].http.paths[0].backend.service.name', 8, 32],
    ['spec.rules[7]', 5, 2],
    ['other.rules[0].host', 6, 12],
    ['text', 10, 0],
    ['none', 13, 0],
    ['quoted', 14, 10],
    ['nonsense', 0, 0],
  ])('finds %s', (field, line, column) => {
    expect(createPositions(text)(offsetOf(tree, field))).toEqual({ line, column });
  });
});

describe('convertOldIngress', () => {
  it('writes the v1 form of everything that changed', () => {
    const old = {
      apiVersion: 'extensions/v1beta1',
      kind: 'Ingress',
      metadata: { name: 'web', uid: 'x', annotations: { 'kubernetes.io/ingress.class': 'nginx' } },
      spec: {
        backend: { serviceName: 'web', servicePort: 'http' },
        rules: [
          {
            host: 'a.example.com',
            http: {
              paths: [
                { path: '/', backend: { serviceName: 'web', servicePort: 80 } },
                { pathType: 'Exact', backend: { resource: { kind: 'Bucket', name: 'b' } } },
                { path: '/x', backend: { serviceName: 'web', servicePort: '81' } },
              ],
            },
          },
          { host: 'b.example.com' },
        ],
        tls: [{ hosts: ['a.example.com'] }],
      },
      status: {},
    };
    expect(convertOldIngress(old)).toBe(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations:
    kubernetes.io/ingress.class: nginx
spec:
  tls:
    - hosts:
        - a.example.com
  defaultBackend:
    service:
      name: web
      port:
        name: http
  rules:
    - host: a.example.com
      http:
        paths:
          - path: /
            pathType: ImplementationSpecific
            backend:
              service:
                name: web
                port:
                  number: 80
          - pathType: Exact
            backend:
              resource:
                kind: Bucket
                name: b
          - path: /x
            pathType: ImplementationSpecific
            backend:
              service:
                name: web
                port:
                  number: 81
    - host: b.example.com
`);
  });

  it('takes any shape', () => {
    fc.assert(fc.property(fc.anything(), (value) => typeof convertOldIngress({ spec: value }) === 'string'));
    fc.assert(
      fc.property(fc.jsonValue(), (value) => typeof convertOldIngress({ spec: { rules: value } }) === 'string'),
    );
  });
});
