/** Paths of Ingresses that nobody should write, and what clients may send for them. */
import fc from 'fast-check';
import { annotated } from '../annotations/table.ts';
import { sendRaw } from './http-client.ts';
import { type IngressSpec, ingress, type Manifest, type PathSpec } from './manifests.ts';

export interface OddPath {
  readonly host: string;
  readonly path: string;
  readonly pathType: 'Exact' | 'Prefix';
}

const PIECES = [
  ...['a', 'b', '/', '//', '.', '/./', '/../', '..', '-', '~'],
  ...['é', ' ', '\u{1f600}', '%C3%A9', '%c3%a9', '%61', '%20', '%2F', '%2f', '%2E%2e', '%00', '%0a', '%', '%4', '%zz'],
  ...[
    '?',
    '#',
    '\\',
    '%3F',
    '%5c',
    '|',
    '{',
    '}',
    '^',
    '"',
    '<',
    '`',
    '*',
    '+',
    ';',
    '@',
    '$',
    '(',
    ')',
    '[',
    ']',
    "'",
    '=',
  ],
];
/** What another tenant may do to a host, with a path that no odd one is. */
export type Neighbour = 'nobody' | 'use-regex' | 'rewrite-target';

const NEIGHBOURS: Readonly<Record<Exclude<Neighbour, 'nobody'>, { readonly path: string; readonly value: string }>> = {
  'use-regex': { path: '/zzz', value: 'true' },
  'rewrite-target': { path: '/zzz/(.*)', value: '/$1' },
};

/** The same ones for the same seed, each for a host of its own. */
export function oddPaths(count: number, seed: number): OddPath[] {
  const text = fc
    .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 5 })
    .map((pieces) => `/${pieces.join('')}`);
  const one = fc.record({ path: text, pathType: fc.constantFrom('Exact' as const, 'Prefix' as const) });
  return fc.sample(one, { numRuns: count, seed }).map((odd, index) => ({ ...odd, host: `odd-${index}.example.com` }));
}

/** Nobody may come to the paths; every other path of the hosts is open, in newer Ingresses. */
export function besideOpenPaths(odd: readonly OddPath[], neighbour: Neighbour): Manifest[] {
  const make = (name: string, host: string, path: PathSpec, spec: Partial<IngressSpec>) =>
    ingress({ name, ...spec, rules: [{ host, paths: [path] }] });
  return odd.flatMap(({ host, ...path }, index) => [
    make(`closed-${index}`, host, path, {
      created: '2025-01-01T00:00:00Z',
      annotations: annotated({ 'denylist-source-range': '0.0.0.0/0,::/0' }),
    }),
    make(`open-${index}`, host, { path: '/', pathType: 'Prefix' }, { created: '2025-06-01T00:00:00Z' }),
    ...(neighbour === 'nobody'
      ? []
      : [
          make(
            `neighbour-${index}`,
            host,
            { path: NEIGHBOURS[neighbour].path, pathType: 'ImplementationSpecific' },
            { created: '2025-06-02T00:00:00Z', annotations: annotated({ [neighbour]: NEIGHBOURS[neighbour].value }) },
          ),
        ]),
  ]);
}

/** What a client may send to ask for the path, as it is written, encoded, or in a longer way, and below it. */
function requestsFor({ path, pathType }: OddPath): string[] {
  const bytes = Buffer.from(path).toString('latin1');
  const encode = (text: string, which: RegExp, letters: 'upper' | 'lower') =>
    text.replaceAll(which, (character) => {
      const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
      return `%${letters === 'upper' ? hex.toUpperCase() : hex}`;
    });
  const strayPercent = /%(?![0-9a-f]{2})/gi;
  const sendable = encode(bytes, strayPercent, 'upper');
  const decoded = sendable.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const spellings = [
    bytes,
    encode(sendable, /[^\x21-\x7e]/g, 'upper'),
    encode(sendable, /[^\x21-\x7e]/g, 'lower'),
    encode(sendable, /[^\w/.%-]/g, 'upper'),
    encode(decoded, /[^\w/.-]/g, 'lower'),
    encode(decoded, /[^/]/g, 'upper'),
    // Proxies do not agree on what `//..` leads to.
    ...(decoded.includes('..') ? [] : [encode(sendable.replaceAll('/', '//'), /[^\x21-\x7e]/g, 'upper')]),
  ];
  const all = spellings.flatMap((one) => [
    one,
    `${one}?x`,
    `/x/..${one}`,
    ...(pathType === 'Prefix' ? [below(one)] : []),
  ]);
  return [...new Set(all)].filter((target) => /^[^\0\r\n ]+$/.test(target));
}

/** Which of all these requests reach a backend. */
export async function servedAmong(odd: readonly OddPath[], port: number): Promise<string[]> {
  const served: string[] = [];
  const ask = async (one: OddPath) => {
    for (const target of requestsFor(one)) {
      const answer = await sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: ${one.host}\r\nConnection: close\r\n\r\n`);
      if (answer.startsWith('HTTP/1.1 200')) served.push(`${one.pathType} ${one.path}: ${target}`);
    }
  };
  await Promise.all(odd.map(ask));
  return served;
}

/** A path below one that may end in a slash already. */
function below(target: string): string {
  return target.endsWith('/') ? `${target}x` : `${target}/x`;
}
