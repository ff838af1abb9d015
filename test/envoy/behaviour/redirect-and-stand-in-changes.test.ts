/** Default backends, aliases and redirects of www while endpoints and annotations come and go. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { ingress, service } from '../../support/manifests.ts';
import { observe, soon } from './cases.ts';

let backends: readonly Backend[];
let gateway: Gateway;

beforeAll(async () => {
  backends = await Promise.all(['web', 'sorry'].map((name) => startBackend(name)));
  gateway = await startGateway({
    manifests: [
      ...backends.flatMap((backend) => [service(backend.name), backend.slice(backend.name)]),
      ingress({
        name: 'web',
        annotations: { 'nginx.ingress.kubernetes.io/default-backend': 'sorry' },
        rules: [{ host: 'a.example.com', paths: [{ path: '/' }] }],
      }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all(backends.map((backend) => backend.close()));
});

/** Who answers, and what it was told. */
async function answering(): Promise<string> {
  const { answer, received } = await observe(gateway, { url: 'http://a.example.com/' });
  return `${answer.status} ${received?.backend} ${received?.headers['x-code']}`;
}

test('stands in when the last endpoint goes, and steps back when one comes', async () => {
  expect(await answering()).toBe('200 web undefined');
  const slice = backends[0]?.slice('web');
  if (slice === undefined) throw new Error('no backend');
  const { name } = slice['metadata'] as { readonly name: string };
  await gateway.remove('EndpointSlice', name);
  await soon(answering).toBe('200 sorry 503');
  await gateway.apply(slice);
  await soon(answering).toBe('200 web undefined');
});

test('an alias and the redirect of www come and go with their annotations', async () => {
  const named = (annotations: Readonly<Record<string, string>>) =>
    ingress({ name: 'named', annotations, rules: [{ host: 'b.example.com', paths: [{ path: '/' }] }] });
  const status = async (host: string) => (await observe(gateway, { url: `http://${host}/` })).answer.status;
  await gateway.apply(
    named({
      'nginx.ingress.kubernetes.io/server-alias': 'c.example.com',
      'nginx.ingress.kubernetes.io/from-to-www-redirect': 'true',
    }),
  );
  await soon(() => status('c.example.com')).toBe(200);
  await soon(() => status('www.b.example.com')).toBe(308);
  await gateway.apply(named({}));
  await soon(() => status('c.example.com')).toBe(404);
  await soon(() => status('www.b.example.com')).toBe(404);
});
