import { describe, expect, test } from 'vitest';
import { inspectDeeply } from './deep-inspection.ts';
import { backend, ingress, rule } from './testing.ts';

const fieldsOf = (fields: Parameters<typeof ingress>[1]) =>
  inspectDeeply(ingress('shop/web', fields)).map(({ field }) => field);

const at = (path: string) => [{ paths: [{ path, pathType: 'Prefix', backend: backend('web:80') }] }];

describe('dangerous text', () => {
  test.each([
    '/x; alias /etc;',
    '/x alias\n/y\n;',
    '/x{root /;}',
    '/content_by_lua_block',
    '/etc/passwd',
    '/etc/shadow',
    '/etc/group',
    '/x/etc/nginx/nginx.conf',
    '/etc/ingress-controller/ssl',
    '/var/run/secrets/kubernetes.io',
  ])('%j', (path) => {
    expect(fieldsOf({ rules: at(path) })).toEqual(['spec.rules[0].http.paths[0].path']);
  });

  test.each(['/', '/alias', '/root', '/root;', '/;root', '/etc', '/etc/hosts', '/var/run', '/by_lua'])(
    'but not %j',
    (path) => {
      // Only a directive with its end: `root` up to a `;`.
      const expected = path === '/root;' ? ['spec.rules[0].http.paths[0].path'] : [];
      expect(fieldsOf({ rules: at(path) })).toEqual(expected);
    },
  );
});

test('is looked for in hosts, paths and spec.tls', () => {
  const bad = '/etc/passwd';
  expect(
    fieldsOf({
      rules: [rule(undefined, { '/': 'web:80' }), rule(bad, { '/': 'web:80', [bad]: 'web:80' })],
      tls: [{ hosts: ['a.example.com', bad] }, { hosts: [], secretName: bad }],
      annotations: { note: bad },
    }),
  ).toEqual([
    'spec.rules[1].host',
    'spec.rules[1].http.paths[1].path',
    'spec.tls[0].hosts[1]',
    'spec.tls[1].secretName',
  ]);
});

test('the message shows the text in one line', () => {
  const [refusal] = inspectDeeply(ingress('shop/web', { rules: at('/a\nalias b;') }));
  expect(refusal?.reason).toBe('"/a\\nalias b;" holds a directive (alias … ;), which --deep-inspect refuses');
});

test.each(['alias', 'root', '/etc/'])('%s, a hundred thousand times: read in linear time', (word) => {
  const begin = performance.now();
  expect(fieldsOf({ rules: at(`/${word.repeat(100_000)}`) })).toEqual([]);
  // The square of the length would take minutes.
  expect(performance.now() - begin).toBeLessThan(2_000);
});
