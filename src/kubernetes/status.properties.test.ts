import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeApi, type Fault, ManualClock } from '../../test/support/kubernetes-api.ts';
import { loadBalancerOf } from '../cluster/decode-ingress.ts';
import { createStatusWriter } from './status.ts';

/** Three Ingresses; `never` is of another class all the time. */
const NAMES = ['a', 'b', 'never'] as const;
const FOREIGN = '198.51.100.7';
const OURS = ['192.0.2.1', '192.0.2.2'];

const name = fc.constantFrom<'a' | 'b'>('a', 'b');
const step = fc.oneof(
  fc.record({ do: fc.constant('serve' as const), name, programmed: fc.boolean() }),
  fc.record({ do: fc.constant('leave' as const), name }),
  fc.record({ do: fc.constant('overwrite' as const), name: fc.constantFrom(...NAMES), empty: fc.boolean() }),
  fc.record({ do: fc.constant('watch' as const), who: fc.nat(1) }),
  fc.record({ do: fc.constant('addresses' as const), who: fc.nat(1), address: fc.constantFrom(...OURS) }),
  fc.record({ do: fc.constant('lead' as const), who: fc.nat(2) }),
  fc.record({
    do: fc.constant('fault' as const),
    fault: fc.constantFrom<Fault>('hang', 'reset', 'lost-answer', { status: 500 }, { status: 409 }, undefined),
  }),
  fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 30 }) }),
);

test('whatever happens, in the end what is served shows our addresses, and nothing else was touched', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new ManualClock();
      const api = new FakeApi(clock);
      const problems: string[] = [];
      const replicas = [0, 1].map(() =>
        createStatusWriter({
          client: api,
          intervalMs: 60_000,
          ackTimeoutMs: 10_000,
          clock,
          onProblem: (message) => problems.push(message),
        }),
      );
      const path = (one: string) => `/apis/networking.k8s.io/v1/namespaces/shop/ingresses/${one}`;
      const write = (one: string, ...addresses: string[]) =>
        api.put(path(one), { status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } } });
      const shown = (one: string) => loadBalancerOf(api.get(path(one)));
      for (const one of NAMES) write(one);
      const served = new Set<string>();
      let neverShows: readonly string[] = [];
      const lead = (who: number) => {
        for (const [index, replica] of replicas.entries()) replica.setLeading(index === who);
      };

      for (const one of steps) {
        if (one.do === 'serve') {
          served.add(one.name);
          for (const replica of replicas)
            replica.update(`shop/${one.name}`, { served: true, programmed: one.programmed });
        } else if (one.do === 'leave') {
          served.delete(one.name);
          for (const replica of replicas) replica.update(`shop/${one.name}`, { served: false, programmed: false });
        } else if (one.do === 'overwrite') {
          write(one.name, ...(one.empty ? [] : [FOREIGN]));
          if (one.name === 'never') neverShows = shown('never');
        } else if (one.do === 'watch') {
          for (const each of NAMES) replicas[one.who]?.observe(`shop/${each}`, shown(each));
        } else if (one.do === 'addresses') replicas[one.who]?.setAddresses([one.address]);
        else if (one.do === 'lead') lead(one.who);
        else if (one.do === 'fault')
          api.fault = ({ method }) => (method === 'GET' && one.fault !== 'hang' ? undefined : one.fault);
        else await clock.advance(one.seconds * 1_000);
      }

      api.fault = () => undefined;
      for (const replica of replicas) {
        replica.setAddresses(['192.0.2.1']);
        for (const each of NAMES) replica.observe(`shop/${each}`, shown(each));
      }
      lead(0);
      await clock.advance(200_000);
      for (const one of ['a', 'b']) {
        if (served.has(one)) expect(shown(one)).toEqual(['192.0.2.1']);
        else expect([[], [FOREIGN]]).toContainEqual(shown(one));
      }
      expect(shown('never')).toEqual(neverShows);
      const before = api.calls(/PUT/).length;
      await clock.advance(600_000);
      expect(api.calls(/PUT/).length).toBe(before);
    }),
    { numRuns: 150 },
  );
});
