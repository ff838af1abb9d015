/**
 * Random Ingresses of hosts with regular expressions, against the semantics of nginx in a few lines: JavaScript's expressions are those of
 * PCRE for what is used here.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PREFIX } from '../../annotations/table.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { ingress, type Manifest } from '../../support/manifests.ts';
import { observe, type Services, startServices } from './cases.ts';

interface PathOfHost {
  readonly path: string;
  readonly service: string;
}

interface Host {
  readonly name: string;
  readonly paths: readonly PathOfHost[];
  readonly target: string | undefined;
}

const HOSTS = 40;
const REQUESTS_PER_HOST = 8;
const SERVICES = ['one', 'two', 'three'] as const;

/** Another world in each run. */
const seed = Math.trunc(Math.random() * 2 ** 31);

const element = fc.constantFrom(
  'a',
  'b',
  '[a-c]',
  '[^/]+',
  '(a|b)',
  '(.*)',
  '.',
  '(/|$)',
  '(b)?',
  'a+',
  '\\.',
  'c@',
  '(?:x|a)b',
  '(?!b).*',
);
const path = fc
  .array(fc.tuple(element, fc.constantFrom('', '', '/')), { minLength: 1, maxLength: 3 })
  .map((elements) => `/${elements.map(([one, slash]) => one + slash).join('')}`)
  // A look-ahead is taken with everything behind it only.
  .filter((text) => !/\(\?!b\)\.\*./.test(text));
const target = fc.option(fc.constantFrom('/', '/$1', '/x/$2', '/$1-$2', '/$12', '/fixed'), { nil: undefined });
const host = fc.record({
  paths: fc.uniqueArray(path, { minLength: 1, maxLength: 3 }),
  target,
});
const request = fc
  .array(fc.constantFrom('a', 'b', 'c', 'A', 'x', '/', '.', '%40', '%20', '-'), { maxLength: 6 })
  .map((pieces) => `/${pieces.join('')}`)
  // Proxies resolve those first.
  .filter((text) => !/\/\/|\/\.{1,2}(?:\/|$)/.test(text));

const hosts: readonly Host[] = fc.sample(host, { numRuns: HOSTS, seed }).map(({ paths, target: one }, index) => ({
  name: `h${index}.expressions.example.com`,
  paths: paths.map((text, place) => ({ path: text, service: SERVICES[place] ?? 'one' })),
  target: one,
}));

let services: Services;
let gateway: Gateway;
beforeAll(async () => {
  services = await startServices(...SERVICES);
  gateway = await startGateway({ manifests: [...services.manifests, ...hosts.map(manifestOf)] });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

function manifestOf({ name, paths, target: rewritten }: Host): Manifest {
  return ingress({
    name: name.replaceAll('.', '-'),
    annotations: {
      [`${PREFIX}/use-regex`]: 'true',
      ...(rewritten !== undefined && { [`${PREFIX}/rewrite-target`]: rewritten }),
    },
    rules: [
      {
        host: name,
        paths: paths.map((one) => ({
          path: one.path,
          pathType: 'ImplementationSpecific',
          service: `${one.service}:80`,
        })),
      },
    ],
  });
}

/** What nginx does: the first location that matches, longest text first; a rewrite replaces the whole path. */
function nginxAnswer(
  { paths, target: rewritten }: Host,
  sent: string,
): { service: string | undefined; path: string | undefined } {
  const decoded = decodeURIComponent(sent);
  const inOrder = paths.toSorted((a, b) => b.path.length - a.path.length || (a.path < b.path ? 1 : -1));
  const location = inOrder.find((one) => new RegExp(`^${one.path}`, 'is').test(decoded));
  if (location === undefined) return { service: undefined, path: undefined };
  const groups =
    rewritten === undefined || rewritten === location.path ? undefined : new RegExp(location.path, 'is').exec(decoded);
  if (rewritten === undefined || !groups) return { service: location.service, path: sent };
  return {
    service: location.service,
    path: rewritten.replaceAll(/\$(\d)/g, (_, digit: string) => groups[Number(digit)] ?? ''),
  };
}

const titled = hosts.map(
  (one, index) => [`${one.paths.map(({ path: text }) => text).join(' ')} to ${one.target}`, one, index] as const,
);

test.each(titled)('%s', async (_, one, index) => {
  for (const sent of fc.sample(request, { numRuns: REQUESTS_PER_HOST, seed: seed + index })) {
    const { received, answer } = await observe(gateway, { url: `http://${one.name}${sent}` });
    const seen = { service: received?.backend, path: received && decodeURIComponent(received.url) };
    const { service, path: expected } = nginxAnswer(one, sent);
    expect(seen, `${sent}: ${answer.status}, seed ${seed}`).toEqual({
      service,
      path: expected && decodeURIComponent(expected),
    });
  }
});
