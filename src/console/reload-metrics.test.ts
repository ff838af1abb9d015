import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addReloadMetrics, type ReloadOutcome } from './reload-metrics.ts';

const identity = { namespace: 'ingress', pod: 'pod-1', class: 'k8s.io/ingress-nginx' };
const CONTROLLER = '{controller_namespace="ingress",controller_class="k8s.io/ingress-nginx",controller_pod="pod-1"}';

async function samplesAfter(...outcomes: readonly ReloadOutcome[]): Promise<Record<string, number>> {
  const registry = new Registry();
  const reloaded = addReloadMetrics(registry, identity);
  for (const outcome of outcomes) reloaded(outcome);
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value] = line.split(`${CONTROLLER} `);
      return [name.replace('nginx_ingress_controller_', ''), Number(value)];
    }),
  );
}

it('carries the names and the labels of ingress-nginx', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const { config_last_reload_successful_timestamp_seconds: time, ...others } = await samplesAfter(
    { kind: 'loaded', hash: '00000000000a1111' },
    { kind: 'failed' },
    { kind: 'failed' },
    { kind: 'loaded', hash: '00000000000b1111' },
    { kind: 'failed' },
  );
  expect(others).toEqual({ config_last_reload_successful: 0, config_hash: 11, success: 2, errors: 3 });
  expect(Math.abs(time! - now)).toBeLessThan(60);
});

it('has no failure any more when what failed is taken back', async () => {
  const loaded = { kind: 'loaded', hash: 'a'.repeat(16) } as const;
  const samples = await samplesAfter(loaded, { kind: 'failed' }, { kind: 'unchanged' });
  expect(samples).toMatchObject({ config_last_reload_successful: 1, success: 1, errors: 1 });
});

it('says nothing where nothing is loaded', async () => {
  expect(await samplesAfter()).toEqual({});
});
