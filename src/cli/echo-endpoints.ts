import type { ClusterState, LocalEndpoints, ObjectChange } from '../cluster/cluster-state.ts';
import type { KubernetesObject } from '../cluster/objects.ts';
import { createEcho } from '../files/echo.ts';
import { referencedServicePorts, type ServicePortRef, servicePortKey } from '../files/service-ports.ts';
import { objectKey } from '../model/object-ref.ts';
import { echoPair } from './generated-certificate.ts';

/** How long the echo backend goes on answering for what nobody refers to any more: routes are still on their way. */
const RELEASE_DELAY_MS = 5_000;

export interface EchoEndpoints {
  /** Listens for what these objects refer to; to be awaited before they are put into the state. */
  follow(changes: readonly ObjectChange[]): Promise<void>;
  close(): Promise<void>;
}

interface Reference {
  readonly ref: ServicePortRef;
  count: number;
  release?: NodeJS.Timeout;
}

/**
 * Makes the echo backend the fallback of every Service port that an Ingress, or `--default-backend-service`, refers to.
 * @param always what `--endpoint` says, which stands in the same entries of the state
 */
export function createEchoEndpoints(
  state: ClusterState,
  always: ReadonlyMap<string, LocalEndpoints>,
  defaultBackendService: string | undefined,
): EchoEndpoints {
  const echo = createEcho(echoPair);
  const refsByObject = new Map<string, readonly ServicePortRef[]>();
  const references = new Map<string, Reference>();

  /** Counts a new reference; true for the first of its Service port. */
  function refer(ref: ServicePortRef): boolean {
    const key = servicePortKey(ref);
    const known = references.get(key);
    if (known === undefined) {
      references.set(key, { ref, count: 1 });
      return true;
    }
    known.count++;
    clearTimeout(known.release);
    return false;
  }

  function unrefer(ref: ServicePortRef): void {
    const key = servicePortKey(ref);
    const known = references.get(key);
    if (known === undefined || --known.count > 0) return;
    known.release = setTimeout(() => {
      references.delete(key);
      state.localEndpoints.set(key, always.get(key));
      void echo.release(ref);
    }, RELEASE_DELAY_MS).unref();
  }

  return {
    async follow(changes) {
      const added: ServicePortRef[] = [];
      for (const change of changes) {
        const object = 'upsert' in change ? change.upsert : change.remove;
        const key = `${object.kind} ${objectKey(object)}`;
        const next = 'upsert' in change ? referencesOf(change.upsert, defaultBackendService) : [];
        added.push(...next.filter(refer));
        for (const ref of refsByObject.get(key) ?? []) unrefer(ref);
        if (next.length > 0) refsByObject.set(key, next);
        else refsByObject.delete(key);
      }
      for (const [key, address] of await echo.ensure(added)) {
        state.localEndpoints.set(key, { ...always.get(key), fallback: [address] });
      }
    },
    async close() {
      for (const { release } of references.values()) clearTimeout(release);
      await echo.close();
    },
  };
}

function referencesOf(object: KubernetesObject, defaultBackendService: string | undefined): ServicePortRef[] {
  if (object.kind === 'Ingress') return referencedServicePorts(object);
  if (object.kind !== 'Service' || objectKey(object) !== defaultBackendService) return [];
  const port = object.ports.find(({ protocol }) => protocol === 'TCP')?.port;
  return port === undefined ? [] : [{ namespace: object.namespace, service: object.name, port: String(port) }];
}
