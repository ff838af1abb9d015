/** Whatever a path is as a regular expression: nginx takes the configuration, and other hosts are served. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PREFIX } from '../annotations/table.ts';
import { startServices } from '../envoy/behaviour/cases.ts';
import { send } from '../support/http-client.ts';
import { ingress } from '../support/manifests.ts';
import { startNginxGateway } from '../support/nginx-gateway.ts';

const piece = fc.constantFrom(
  ...[
    'a',
    '/',
    '.',
    '\\.',
    '\\d',
    '\\W',
    '[a-c]',
    '[^/b]',
    '%20',
    '%C3',
    '{',
    '}',
    '*',
    '+',
    '*?',
    '{1,2}',
    '{,2}',
    '++',
  ],
  ...[
    '(',
    ')',
    '|',
    '[',
    ']',
    '^',
    '$',
    '\\b',
    '\\1',
    '(?=',
    '(?!',
    '(?:',
    '(?i)',
    '(?>',
    '(?<name>',
    '(?P<n>',
    "(?'n'",
  ],
  ...[
    '[[:alpha:]]',
    '[:alpha:]',
    '[]a]',
    '[\\d_]',
    '[[a]',
    '\\h',
    '\\R',
    '\\K',
    '\\G',
    '\\z',
    '\\x41',
    '\\e',
    '"',
    "'",
    '#',
    '$1',
    '()',
  ],
);
const path = fc.array(piece, { minLength: 1, maxLength: 7 }).map((pieces) => `/${pieces.join('')}`);

const HOSTS = 40;
const PATHS_PER_HOST = 20;

test('random expressions cost no other host anything', async () => {
  const seed = Math.trunc(Math.random() * 2 ** 31);
  const paths = fc.sample(path, { numRuns: HOSTS * PATHS_PER_HOST, seed });
  const annotations = { [`${PREFIX}/use-regex`]: 'true', [`${PREFIX}/rewrite-target`]: '/x$1' };
  const odd = Array.from({ length: HOSTS }, (_, index) =>
    ingress({
      name: `odd-${index}`,
      annotations,
      rules: [
        {
          host: `odd-${index}.example.com`,
          paths: paths
            .slice(index * PATHS_PER_HOST, (index + 1) * PATHS_PER_HOST)
            .map((one) => ({ path: one, pathType: 'ImplementationSpecific' })),
        },
      ],
    }),
  );
  const services = await startServices('web');
  const other = ingress({ name: 'other', rules: [{ host: 'other.example.com', paths: [{ path: '/' }] }] });
  const gateway = await startNginxGateway({ manifests: [...services.manifests, other, ...odd] });
  try {
    const { status } = await send({ port: gateway.httpPort, host: 'other.example.com' });
    expect(status, `seed ${seed}`).toBe(200);
  } finally {
    await gateway.close();
    await services.close();
  }
});
