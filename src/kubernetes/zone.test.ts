import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeApiServer } from './testing.ts';
import { readNodeZone } from './zone.ts';

let api: FakeApiServer;

beforeEach(async () => {
  api = new FakeApiServer();
  await api.listen();
});
afterEach(() => api.close());

const pod = { spec: { nodeName: 'node-1' } };
const node = { metadata: { labels: { 'topology.kubernetes.io/zone': 'zone-b' } } };

it.each([
  ['is the label of the node that the pod runs on', pod, node, 'zone-b'],
  ['is unknown without the label', pod, { metadata: {} }, undefined],
  ['is unknown for a pod without a node', { spec: {} }, node, undefined],
  ['is unknown when the node may not be read', pod, undefined, undefined],
  ['is unknown when the pod may not be read', undefined, node, undefined],
])('the zone %s', async (_, podAnswer, nodeAnswer, zone) => {
  const answers: Record<string, unknown> = {
    '/api/v1/namespaces/system/pods/gateway': podAnswer,
    '/api/v1/nodes/node-1': nodeAnswer,
  };
  api.answer = ({ path }) => ({ status: answers[path] === undefined ? 403 : 200, body: answers[path] ?? {} });
  expect(await readNodeZone(api.client(), 'system', 'gateway')).toBe(zone);
});

it('the zone is unknown when nobody answers', async () => {
  api.misbehave = () => 'reset';
  expect(await readNodeZone(api.client(), 'system', 'gateway')).toBeUndefined();
});
