/** A control plane that builds thousands of Ingresses for the first time answers health checks meanwhile, and sends nothing. */

import { expect, test } from 'vitest';
import { createPipeline } from '../../src/cli/pipeline.ts';
import { createHealthServer } from '../../src/console/health.ts';
import type { Settled } from '../../src/controller.ts';
import { defaultOptions } from '../../src/ingress/testing.ts';
import { changesOf } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { freePorts } from '../support/static-envoy.ts';

const INGRESSES = 6000;
function tenant(index: number): Manifest[] {
  const name = `t${index}`;
  return [
    ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
    service(name),
    endpointSlice(name, ['127.0.0.1']),
  ];
}

const tenants = (first: number, count: number) => Array.from({ length: count }, (_, i) => tenant(first + i)).flat();

test('health is answered during the first pass, and nothing is committed before its end', async () => {
  const [port = 0] = await freePorts(1);
  const generated = await makePair(['ingress.local']);
  const settled: Settled[] = [];
  const { state, controller, store, build } = createPipeline({
    build: defaultOptions(generated),
    emit: { ipv6: true },
    onSettled: (one) => settled.push(one),
  });
  const health = createHealthServer({
    host: '127.0.0.1',
    port,
    healthCheckPath: '/healthz',
    healthy: () => store.ready,
    ready: () => ({ ready: store.ready, reason: '' }),
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
  });
  await health.listen();
  try {
    state.apply(changesOf(tenants(0, INGRESSES)));
    let waited = 0;
    let during = 0;
    const begin = performance.now();
    const started = controller.start();
    while (!store.ready) {
      const asked = performance.now();
      const { status } = await send({ port, host: 'x', path: '/healthz' });
      waited = Math.max(waited, performance.now() - asked);
      if (status === 500) during++;
      if (during === 3) {
        state.apply(changesOf(tenant(INGRESSES)));
        controller.notify(false);
      }
    }
    await started;
    const total = performance.now() - begin;
    expect(during).toBeGreaterThan(10);
    expect(waited).toBeLessThan(total / 3);
    expect(build.model.virtualHosts.get(`t${INGRESSES - 1}.example.com`)).toBeDefined();
    while (settled.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(settled.map(({ commit }) => commit?.seq)).toEqual([1, 2]);
    expect(build.model.virtualHosts.get(`t${INGRESSES}.example.com`)).toBeDefined();
  } finally {
    controller.stop();
    await health.close();
  }
});
