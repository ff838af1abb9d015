import { hostname } from 'node:os';
import type { ClusterState, ObjectChange } from '../cluster/cluster-state.ts';
import type { Settled } from '../controller.ts';
import type { Build } from '../ingress/build.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { createEventReports, type EventReports, type ObjectIdentity } from '../kubernetes/event-reports.ts';
import { createEventRecorder } from '../kubernetes/events.ts';
import { createLeaderElection, createSoleLeader, type LeaderElection } from '../kubernetes/lease.ts';
import { isLastPod, isPodRunning } from '../kubernetes/pods.ts';
import { createStatusWriter } from '../kubernetes/status.ts';
import { type AddressOrigin, createStatusAddresses } from '../kubernetes/status-addresses.ts';
import type { DiagnosticChange } from '../model/diagnostic-change.ts';
import { type ObjectKey, type ObjectRef, objectKey, objectRef } from '../model/object-ref.ts';
import type { PublishOutcome } from '../nginx/publish.ts';
import type { XdsEvent } from '../xds/observer.ts';
import type { ControlPlaneArguments } from './flags.ts';
import type { Logger } from './logger.ts';
import type { PodIdentity } from './pod-identity.ts';
import { createProgrammedTracker } from './programmed.ts';
import { createReloadEvents } from './reload-events.ts';

export interface ClusterDutiesContext {
  readonly state: ClusterState;
  readonly build: Build;
}

/** What a controller writes into its cluster: who leads, the addresses of Ingresses, events. */
export interface ClusterDuties {
  readonly leading: boolean;
  /** Objects as the API server shows them, before they are put into the state. */
  changed(changes: readonly ObjectChange[]): void;
  /** A pass has ended; `seq` is the number of the last commit. */
  settled(settled: Settled, seq: number): void;
  diagnosed(change: DiagnosticChange): void;
  observe(event: XdsEvent): void;
  /** The proxy has loaded a configuration, or has not. */
  reloaded(outcome: PublishOutcome): void;
  start(): void;
  /** Gives everything up in order. Takes some seconds at most; never rejects. */
  stop(): Promise<void>;
}

export function createClusterDuties(
  args: ControlPlaneArguments,
  context: ClusterDutiesContext & {
    readonly client: KubernetesClient;
    readonly pod: PodIdentity | undefined;
    readonly logger: Logger;
  },
): ClusterDuties {
  const { state, build, client, pod, logger } = context;
  const onProblem = (message: string) => logger.warn(message);
  const recorder = createEventRecorder({
    client,
    component: 'nginx-ingress-controller',
    host: pod?.name ?? hostname(),
    onProblem,
  });
  const events = createEventReports({
    recorder,
    identify: (ref) => identify(state, ref),
    syncEvents: !args.disableSyncEvents,
  });
  const reloads = pod && createReloadEvents({ client, pod, recorder });
  const writer = args.updateStatus
    ? createStatusWriter({
        client,
        intervalMs: args.statusUpdateInterval * 1_000,
        ackTimeoutMs: args.statusAckTimeout,
        onProblem,
      })
    : undefined;
  const addresses =
    writer &&
    createStatusAddresses({
      client,
      origin: addressOrigin(args, pod),
      intervalMs: args.statusUpdateInterval * 1_000,
      onAddresses: (list) => writer.setAddresses(list),
      onProblem,
    });
  /** Those that exist. */
  const configMaps = new Set<ObjectKey>();
  const tracker = createProgrammedTracker((keys) => {
    for (const key of keys) writer?.update(key, { served: true, programmed: true });
  });
  const onLeading = (leading: boolean) => {
    logger.info(leading ? 'this replica leads from now on' : 'this replica leads no more');
    writer?.setLeading(leading);
  };
  const election = createElection(args, { client, pod, onChange: onLeading, onProblem });

  function followStatus({ pass }: Settled, seq: number): void {
    for (const [key, decision] of pass.of(build.servedIngresses)) {
      if (decision?.served !== undefined) continue;
      tracker.removed(key);
      if (state.ingresses.get(key) === undefined) writer?.remove(key);
      else writer?.update(key, { served: false, programmed: false });
    }
    const changed = new Set([...pass.of(state.ingresses).keys(), ...pass.of(build.servedIngresses).keys()]);
    const served = [...changed].filter((key) => build.servedIngresses.get(key)?.served !== undefined);
    tracker.passed(served, seq);
    for (const key of served) writer?.update(key, { served: true, programmed: tracker.programmed(key) });
  }

  return {
    get leading() {
      return election.leading;
    },
    changed: (changes) => {
      for (const change of changes) {
        if ('upsert' in change && change.upsert.kind === 'Ingress') {
          writer?.observe(objectKey(change.upsert), change.upsert.loadBalancer ?? []);
        }
      }
    },
    settled: (settled, seq) => {
      followStatus(settled, seq);
      reportChanges(args, settled, context, { events, seen: configMaps });
      events.diagnosed(settled.diagnostics);
    },
    diagnosed: (change) => events.diagnosed(change),
    observe: (event) => tracker.observe(event),
    reloaded: (outcome) => reloads?.(outcome),
    start: () => {
      addresses?.start();
      election.start();
    },
    stop: async () => {
      void addresses?.stop();
      await writer?.stop({ clear: await mayClear(args, { client, pod, election }) });
      await election.stop();
      await recorder.stop();
    },
  };
}

interface EndContext {
  readonly client: KubernetesClient;
  readonly pod: PodIdentity | undefined;
  readonly election: LeaderElection;
}

/** The addresses are taken back by the last replica only: others go on serving at them. */
async function mayClear(args: ControlPlaneArguments, { client, pod, election }: EndContext): Promise<boolean> {
  if (!args.updateStatusOnShutdown || pod === undefined || !(await isLastPod(client, pod))) return false;
  return election.leading || !(await isLedByAnother({ client, pod, election }));
}

/**
 * Whether a pod that is to stay holds the Lease. Where all replicas end at once the leader may be gone before another has taken
 * over; but with other labels there may be pods of another release, which are led by one of theirs.
 */
async function isLedByAnother({ client, pod, election }: EndContext & { readonly pod: PodIdentity }): Promise<boolean> {
  try {
    const name = await election.holder();
    return name !== '' && name !== pod.name && (await isPodRunning(client, { namespace: pod.namespace, name }));
  } catch {
    return true;
  }
}

/** What ingress-nginx says of objects that come and change. */
function reportChanges(
  args: ControlPlaneArguments,
  { pass }: Settled,
  { state, build }: ClusterDutiesContext,
  { events, seen }: { readonly events: EventReports; readonly seen: Set<ObjectKey> },
): void {
  const isServed = (key: string) => build.servedIngresses.get(key)?.served !== undefined;
  events.ingressesChanged([...pass.of(state.ingresses).keys()].filter(isServed));
  const named = new Set([args.configmap, args.tcpServicesConfigmap, args.udpServicesConfigmap]);
  for (const [key, configMap] of pass.of(state.configMaps)) {
    if (!named.has(key)) continue;
    if (configMap !== undefined) events.configMapChanged(key, seen.has(key));
    if (configMap !== undefined) seen.add(key);
    else seen.delete(key);
  }
}

/** The object as it is known now: `kubectl describe` finds Events by its uid. */
function identify(state: ClusterState, ref: ObjectRef): ObjectIdentity | undefined {
  const { uid, resourceVersion } = state.find(ref) ?? {};
  return { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) };
}

function addressOrigin(args: ControlPlaneArguments, pod: PodIdentity | undefined): AddressOrigin {
  const { publishStatusAddress, publishService, reportNodeInternalIpAddress } = args;
  if (publishStatusAddress !== undefined) {
    const addresses = publishStatusAddress.split(',').map((address) => address.trim());
    return { kind: 'fixed', addresses: addresses.filter((address) => address !== '') };
  }
  if (publishService !== undefined) {
    const { namespace, name } = objectRef('Service', publishService);
    return { kind: 'service', namespace, name };
  }
  const known = requirePod(pod);
  return { kind: 'nodes', pod: known, internal: reportNodeInternalIpAddress };
}

function createElection(
  args: ControlPlaneArguments,
  options: {
    readonly client: KubernetesClient;
    readonly pod: PodIdentity | undefined;
    readonly onChange: (leading: boolean) => void;
    readonly onProblem: (message: string) => void;
  },
): LeaderElection {
  const { client, pod, onChange, onProblem } = options;
  if (args.disableLeaderElection) return createSoleLeader({ onChange });
  const { namespace, name: identity } = requirePod(pod);
  const { electionId: name, electionTtl: leaseMs } = args;
  return createLeaderElection({ client, namespace, name, identity, leaseMs, onChange, onProblem });
}

/** Where a pod is needed, the check of the flags has asked for its name already, and says what to give instead. */
function requirePod(pod: PodIdentity | undefined): PodIdentity {
  if (pod === undefined) throw new Error('POD_NAME and POD_NAMESPACE are not set');
  return pod;
}
