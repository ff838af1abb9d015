import { expect, it } from 'vitest';
import { FakeApi, ManualClock, settle } from '../../test/support/kubernetes-api.ts';
import { createEventRecorder } from '../kubernetes/events.ts';
import { createReloadEvents } from './reload-events.ts';

const pod = { namespace: 'ingress', name: 'pod-1' };
const loaded = { kind: 'loaded', hash: 'a', durationMs: 1 } as const;
const failed = { kind: 'failed', step: 'check', reason: 'unknown directive "x" in line 7', retryInMs: 1 } as const;

function start() {
  const clock = new ManualClock();
  const api = new FakeApi(clock);
  const problems: string[] = [];
  const onProblem = (message: string) => void problems.push(message);
  const recorder = createEventRecorder({ client: api, component: 'test', host: 'pod-1', clock, onProblem });
  const reloaded = createReloadEvents({ client: api, pod, recorder });
  const events = () =>
    api.list('/api/v1/namespaces/ingress/events').map(({ type, reason, message, involvedObject }) => {
      const { kind, name, uid } = involvedObject as Record<string, unknown>;
      return [type, reason, message, `${kind} ${name} ${uid}`];
    });
  return { api, reloaded, events };
}

it('is on our pod, with its uid, for each configuration', async () => {
  const { api, reloaded, events } = start();
  api.put('/api/v1/namespaces/ingress/pods/pod-1', { metadata: { uid: 'uid-1' } });
  for (const outcome of [loaded, failed, { kind: 'unchanged', hash: 'a' } as const]) reloaded(outcome);
  await settle();
  expect(events()).toEqual([
    ['Normal', 'RELOAD', 'nginx has loaded a changed configuration', 'Pod pod-1 uid-1'],
    [
      'Warning',
      'RELOAD',
      'nginx keeps its configuration, check failed: unknown directive "x" in line 7',
      'Pod pod-1 uid-1',
    ],
  ]);
  expect(api.calls(/GET/)).toHaveLength(1);
});

it('is there also where the pod cannot be read, and has the uid as soon as it can', async () => {
  const { api, reloaded, events } = start();
  api.fault = ({ path }) => (path.includes('/pods/') ? { status: 403 } : undefined);
  reloaded(loaded);
  await settle();
  api.fault = () => undefined;
  api.put('/api/v1/namespaces/ingress/pods/pod-1', { metadata: { uid: 'uid-1' } });
  reloaded(failed);
  await settle();
  expect(events().map(([, , , object]) => object)).toEqual(['Pod pod-1 undefined', 'Pod pod-1 uid-1']);
});
