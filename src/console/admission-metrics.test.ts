import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addAdmissionMetrics } from './admission-metrics.ts';

const identity = { namespace: 'ingress', pod: 'pod-1', class: 'k8s.io/ingress-nginx' };
const CONTROLLER = 'controller_namespace="ingress",controller_class="k8s.io/ingress-nginx",controller_pod="pod-1"';
const built = { ingresses: 3, bytes: 1234, checkSeconds: 0.25, buildSeconds: 0.5 };

function samples(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

it('carries the names, the labels and the units of ingress-nginx', async () => {
  const registry = new Registry();
  const reviewed = addAdmissionMetrics(registry, identity);
  reviewed({ namespace: 'shop', name: 'web', built, seconds: 1 });
  reviewed({ namespace: 'shop', name: 'web', denial: 'taken', seconds: 9 });
  const gauges = {
    tested_ingresses: 3,
    tested_duration: 0.5,
    render_ingresses: 3,
    render_duration: 0.25,
    roundtrip_duration: 1,
    config_size: 1234,
  };
  expect(samples(await registry.metrics())).toEqual([
    ...Object.entries(gauges).map(
      ([name, value]) => `nginx_ingress_controller_admission_${name}{${CONTROLLER}} ${value}`,
    ),
    `nginx_ingress_controller_check_success{${CONTROLLER},namespace="shop",ingress="web"} 1`,
    `nginx_ingress_controller_check_errors{${CONTROLLER},namespace="shop",ingress="web"} 1`,
  ]);
});

it('counts no more names than a cluster has, whoever makes them up', async () => {
  const registry = new Registry();
  const reviewed = addAdmissionMetrics(registry, identity);
  for (let index = 0; index < 10_500; index++)
    reviewed({ namespace: 'x', name: `n${index}`, denial: 'no', seconds: 0 });
  reviewed({ namespace: 'x', name: 'n0', denial: 'no', seconds: 0 });
  const counted = samples(await registry.metrics()).filter((line) => line.includes('check_errors'));
  expect(counted.length).toBe(10_000);
  expect(counted[0]).toMatch(/ingress="n0"} 2$/);
});
