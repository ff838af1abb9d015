import type { KubernetesClient } from '../kubernetes/client.ts';
import type { EventRecorder } from '../kubernetes/events.ts';
import { asMap } from '../kubernetes/json.ts';
import { read } from '../kubernetes/pods.ts';
import type { PublishOutcome } from '../nginx/publish.ts';
import type { PodIdentity } from './pod-identity.ts';

export interface ReloadEventsOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** Ours. */
  readonly pod: PodIdentity;
  readonly recorder: Pick<EventRecorder, 'record'>;
}

/** `RELOAD` on our own pod, for each configuration that nginx has loaded, or has not: `kubectl describe pod` shows it. */
export function createReloadEvents({ client, pod, recorder }: ReloadEventsOptions): (outcome: PublishOutcome) => void {
  let uid: string | undefined;
  /** Events are recorded in their order. */
  let last: Promise<void> = Promise.resolve();

  async function findUid(): Promise<void> {
    if (uid !== undefined) return;
    // Without it the Event is there, too, and the pod can be read another time.
    const found = await read(client, `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}`).catch(() => undefined);
    const { uid: known } = asMap(asMap(found)['metadata']);
    if (typeof known === 'string') uid = known;
  }

  return (outcome) => {
    if (outcome.kind === 'unchanged') return;
    last = last.then(async () => {
      await findUid();
      recorder.record({
        ref: { kind: 'Pod', namespace: pod.namespace, name: pod.name },
        ...(uid !== undefined && { uid }),
        type: outcome.kind === 'loaded' ? 'Normal' : 'Warning',
        reason: 'RELOAD',
        message:
          outcome.kind === 'loaded'
            ? 'nginx has loaded a changed configuration'
            : `nginx keeps its configuration, ${outcome.step} failed: ${outcome.reason}`,
      });
    });
  };
}
