import type { World } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { configMap, ingress, type Manifest, service } from '../support/manifests.ts';
import { type AnnotationTable, annotated, type KeyCases } from './table.ts';

const DOMAIN = 'service-upstream.example.com';

/**
 * A Service with an address of its own, at which `itself` answers, and with an endpoint, `pod`; a headless one with the same endpoint.
 */
async function start(more: readonly Manifest[], build: World['build'] = {}): Promise<World> {
  const [itself, pod] = await Promise.all(['itself', 'pod'].map((name) => startBackend(name)));
  if (itself === undefined || pod === undefined) throw new Error('no backends');
  const withAddress = (name: string, clusterIP: string): Manifest => {
    const made = service(name, [{ port: itself.port }]);
    return { ...made, spec: { ...(made['spec'] as object), clusterIP } };
  };
  const host = (name: string, to: string, value?: string) =>
    ingress({
      name,
      annotations: annotated(value === undefined ? {} : { 'service-upstream': value }),
      rules: [{ host: `${name}.${DOMAIN}`, paths: [{ path: '/', service: `${to}:${itself.port}` }] }],
    });
  return {
    build,
    close: async () => {
      await Promise.all([itself, pod].map((backend) => backend.close()));
    },
    manifests: [
      ...more,
      withAddress('shop', '127.0.0.1'),
      pod.slice('shop'),
      withAddress('headless', 'None'),
      pod.slice('headless'),
      withAddress('empty', '127.0.0.1'),
      host('default', 'shop'),
      host('on', 'shop', 'true'),
      host('off', 'shop', 'false'),
      host('bad', 'shop', 'yes'),
      host('headless', 'headless', 'true'),
      host('empty', 'empty', 'true'),
      host('missing', 'nothing', 'true'),
    ],
  };
}

function to(name: string) {
  return { url: `http://${name}.${DOMAIN}/` };
}

export const serviceUpstream: AnnotationTable = {
  title: 'addresses of Services',
  start: () => start([]),
  keys: {
    'service-upstream': {
      good: [
        { ...to('on'), backend: 'itself' },
        { ...to('off'), backend: 'pod', because: 'another Ingress says something else about the same Service' },
      ],
      bad: [{ ...to('bad'), backend: 'pod' }],
      default: [{ ...to('default'), backend: 'pod' }],
      neighbours: [
        { ...to('headless'), backend: 'pod', because: 'it has no address' },
        { ...to('empty'), backend: 'itself', because: 'nobody asks for endpoints' },
        { ...to('missing'), status: 503 },
      ],
    },
  },
};

function inConfigMap(title: string, value: string, cases: KeyCases): AnnotationTable {
  const data = value === '' ? {} : { 'service-upstream': value };
  return {
    title: `addresses of Services by the ConfigMap: ${title}`,
    start: () => start([configMap('config', data)], { configMap: 'default/config' }),
    keys: { 'ConfigMap service-upstream': cases },
  };
}

export const serviceUpstreamOfConfigMap: readonly AnnotationTable[] = [
  inConfigMap('on', 'true', {
    good: [{ ...to('default'), backend: 'itself' }],
    default: [],
    neighbours: [
      { ...to('off'), backend: 'pod' },
      { ...to('headless'), backend: 'pod' },
    ],
  }),
  inConfigMap('none', '', { good: [], default: [{ ...to('default'), backend: 'pod' }] }),
  inConfigMap('not readable', 'yes', { good: [], bad: [{ ...to('default'), backend: 'pod' }], default: [] }),
];
