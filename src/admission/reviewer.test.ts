import { beforeAll, describe, expect, it } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { ingress, type PemPair, rule, service } from '../ingress/testing.ts';
import { createReviewer, describeDenial, type Reviewed, type ReviewerOptions } from './reviewer.ts';
import { ReviewWorld, rawIngress, rawPath, rawReview, rawRule, UID } from './testing.ts';

let generated: PemPair;
beforeAll(async () => {
  generated = await makePair(['generated']);
});

const MIB = 1024 * 1024;
const waiting = () => new AbortController().signal;

function setUp(overrides: Partial<ReviewerOptions> = {}) {
  const { cluster, world } = new ReviewWorld(generated);
  const reviewed: Reviewed[] = [];
  const reviewer = createReviewer({
    engine: cluster.engine,
    state: cluster.state,
    build: cluster.build,
    options: world.options,
    synced: () => true,
    onReviewed: (review) => reviewed.push(review),
    ...overrides,
  });
  cluster.apply(service('shop/web'));
  const send = (body: unknown, signal = waiting()) =>
    reviewer.review(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), signal);
  return { cluster, reviewed, send, reviewer };
}

describe('answers', () => {
  it('repeat the uid and allow', async () => {
    const { send, reviewed } = setUp();
    const { status, body } = await send(rawReview(rawIngress()));
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: UID, allowed: true },
    });
    expect(reviewed).toMatchObject([{ operation: 'CREATE', namespace: 'shop', name: 'new', built: { ingresses: 1 } }]);
  });

  it('deny with code 400, the reason BadRequest and a message', async () => {
    const { send, reviewed } = setUp();
    const { status, body } = await send(rawReview(rawIngress({ metadata: { uid: 'no' } })));
    expect(status).toBe(200);
    expect(JSON.parse(body).response).toEqual({
      uid: UID,
      allowed: false,
      status: { status: 'Failure', code: 400, reason: 'BadRequest', message: 'metadata.uid: no UUID' },
    });
    expect(reviewed).toMatchObject([{ denial: 'metadata.uid: no UUID' }]);
    expect(reviewed[0]?.built).toBeUndefined();
    expect(reviewed.map(describeDenial)).toEqual(['denied CREATE of Ingress shop/new: metadata.uid: no UUID']);
  });

  it('carry warnings', async () => {
    const spec = { rules: [rawRule('new.example.com', rawPath('/', 'Prefix', 'nowhere'))] };
    const { body } = await setUp().send(rawReview(rawIngress({ spec })));
    expect(JSON.parse(body).response).toMatchObject({ allowed: true, warnings: [expect.stringMatching(/nowhere/)] });
  });

  it('see what was applied before', async () => {
    const { cluster, send } = setUp();
    expect((await send(rawReview(rawIngress()))).body).toContain('"allowed":true');
    cluster.apply(ingress('shop/first', { rules: [rule('new.example.com', { 'Prefix /': 'web:80' })] }));
    expect((await send(rawReview(rawIngress()))).body).toContain('shop/first');
  });

  it('are 503 before the cluster has been read, so that the failurePolicy decides', async () => {
    let synced = false;
    const { send } = setUp({ synced: () => synced });
    expect(await send(rawReview(rawIngress()))).toEqual({ status: 503, body: 'the cluster has not been read yet\n' });
    synced = true;
    expect((await send(rawReview(rawIngress()))).status).toBe(200);
  });
});

describe('bodies that are no review', () => {
  const pod = { group: '', version: 'v1', kind: 'Pod' };
  const beta = { group: 'networking.k8s.io', version: 'v1beta1', kind: 'Ingress' };
  it.each([
    ['nothing', '', 400],
    ['no JSON', '{"apiVersion":', 400],
    ['YAML', 'kind: AdmissionReview', 400],
    ['null', 'null', 400],
    ['a number', '1', 400],
    ['a list', [], 400],
    ['no kind', { apiVersion: 'admission.k8s.io/v1' }, 400],
    ['a kind that is inherited', '{"__proto__":{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}}', 400],
    ['another version', { ...rawReview(rawIngress()), apiVersion: 'admission.k8s.io/v1beta1' }, 500],
    ['another kind', { ...rawReview(rawIngress()), kind: 'Ingress' }, 500],
    ['no request', { ...rawReview(null), request: undefined }, 400],
    ['a request that is a list', { ...rawReview(null), request: [] }, 400],
    ['no uid', rawReview(rawIngress(), { uid: undefined }), 400],
    ['a uid that is no text', rawReview(rawIngress(), { uid: { toString: 1 } }), 400],
    ['a review of a Pod', rawReview(rawIngress(), { kind: pod }), 500],
    ['a review of an old Ingress', rawReview(rawIngress(), { kind: beta }), 500],
    ['no kind of the object', rawReview(rawIngress(), { kind: null }), 500],
    ['too many levels', `${'['.repeat(101)}${']'.repeat(101)}`, 400],
    ['too many maps', `[${'{},'.repeat(500_000)}{}]`, 400],
    ['9 MiB of levels', '['.repeat(9 * MIB - 1), 400],
  ])('%s', async (_, body, status) => {
    const { send, reviewed } = setUp();
    expect((await send(body)).status).toBe(status);
    expect(reviewed).toEqual([]);
  });
});

describe('hostile objects', () => {
  const allowedWith = async (object: unknown) => {
    const { status, body } = await setUp().send(typeof object === 'string' ? object : rawReview(object));
    expect(status).toBe(200);
    return JSON.parse(body).response as { allowed: boolean; status?: { message: string }; warnings?: string[] };
  };
  const withText = (from: string, to: string) => JSON.stringify(rawReview(rawIngress())).replace(from, to);

  it('keys of the prototype are keys like any other', async () => {
    const annotations =
      '"annotations":{"__proto__":"x","constructor":"y","nginx.ingress.kubernetes.io/canary":"false"},';
    const { allowed } = await allowedWith(withText('"metadata":{', `"metadata":{${annotations}`));
    expect(allowed).toBe(true);
    const spec = withText('"spec":{', '"spec":{"__proto__":{"rules":1},"constructor":{"prototype":{"x":1}},');
    const { warnings } = await allowedWith(spec);
    expect(warnings?.join()).toMatch(/spec\.constructor: No such field/);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it.each([
    ['rules of the wrong kind', { spec: { rules: { length: 1e9 } } }],
    ['a rule that is text', { spec: { rules: ['x'] } }],
    ['paths that are null', { spec: { rules: [{ http: { paths: [null] } }] } }],
    ['a host that is a number', { spec: { rules: [{ host: 7 }] } }],
    ['annotations that are a list', { metadata: { annotations: ['x'] } }],
    ['a name that is a path', { metadata: { name: '../../etc/passwd' } }],
    ['a namespace that is a path', { metadata: { namespace: '..' } }],
  ])('%s is denied', async (_, fields) => {
    const { allowed, status } = await allowedWith(rawIngress(fields));
    expect(allowed).toBe(false);
    expect(status?.message).not.toBe('');
  });

  it('line ends in names stay on the line of the log', async () => {
    const { send, reviewed } = setUp();
    await send(rawReview(rawIngress(), { name: 'a\nERROR forged\u2028\u001b[31m', namespace: 'x'.repeat(10_000) }));
    expect(reviewed[0]?.name).toBe('a ERROR forged  [31m');
    expect(reviewed[0]?.namespace.length).toBe(253);
  });

  it('thousands of faults make one short message', async () => {
    const paths = Array.from({ length: 5000 }, () => rawPath(`/_by_lua${'x'.repeat(100)}`));
    const { status } = await allowedWith(rawIngress({ spec: { rules: [rawRule('new.example.com', ...paths)] } }));
    expect(status?.message).toMatch(/; and 4997 more$/);
    expect(status?.message.length).toBeLessThan(1100);
  });
});

describe('turns', () => {
  const large = (count: number) => {
    const paths = Array.from({ length: count }, (_, index) => rawPath(`/p${index}`));
    return rawReview(rawIngress({ spec: { rules: [rawRule('large.example.com', ...paths)] } }));
  };
  const manyHosts = (count: number) => {
    const rules = Array.from({ length: count }, (_, index) => rawRule(`h${index}.example.com`, rawPath('/')));
    return rawReview(rawIngress({ spec: { rules } }));
  };

  it('a large review gives way to others', async () => {
    const { send } = setUp();
    const order: string[] = [];
    const big = send(manyHosts(3000)).then(({ status }) => order.push(`large ${status}`));
    await send(rawReview(rawIngress())).then(({ status }) => order.push(`small ${status}`));
    await big;
    expect(order).toEqual(['small 200', 'large 200']);
  });

  it('many at once are all answered', async () => {
    const { send, reviewed } = setUp();
    const replies = await Promise.all(Array.from({ length: 100 }, () => send(rawReview(rawIngress()))));
    expect(replies.filter(({ status }) => status === 200).length).toBe(100);
    expect(reviewed.length).toBe(100);
  });

  it('a review that nobody waits for is given up', async () => {
    const { send, reviewed } = setUp();
    const client = new AbortController();
    const reply = send(manyHosts(3000), client.signal);
    client.abort();
    expect((await reply).status).toBe(503);
    expect((await send(rawReview(rawIngress()), AbortSignal.abort())).status).toBe(503);
    expect(reviewed).toEqual([]);
  });

  it('a review ends when the API server no longer waits', async () => {
    let time = 0;
    const { send, reviewed } = setUp({ now: () => (time += 100) });
    expect(await send(manyHosts(200))).toEqual({ status: 503, body: 'the review took too long\n' });
    expect(reviewed).toEqual([]);
  });

  it('a fault in one review is told and is the end of that one only', async () => {
    let broken = true;
    const emit = () => {
      if (broken) throw new Error('planted');
      return { diagnosticTables: [], resources: [] };
    };
    const { send } = setUp({ emit });
    for (let count = 0; count < 10; count++) expect((await send(rawReview(rawIngress()))).status).toBe(500);
    broken = false;
    expect((await send(large(10))).status).toBe(200);
  });
});
