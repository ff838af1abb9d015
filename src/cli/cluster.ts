import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import { KubernetesConfigError } from '../kubernetes/errors.ts';
import { readNodeZone } from '../kubernetes/zone.ts';
import { type ClusterDuties, type ClusterDutiesContext, createClusterDuties } from './cluster-duties.ts';
import { type ClusterSource, type ClusterSourceOptions, createClusterSource } from './cluster-source.ts';
import { type ClusterArguments, ConfigurationError, type ControlPlaneArguments } from './flags.ts';
import type { Logger } from './logger.ts';
import { type PodIdentity, podFromEnvironment } from './pod-identity.ts';
import type { SourceOptions } from './source.ts';
import { version } from './version.ts';

/** A cluster: the objects in it, and what a controller writes into it. */
export interface Cluster {
  /** Where our node stands, with `--enable-topology-aware-routing`. */
  readonly zone: string | undefined;
  source(options: Pick<ClusterSourceOptions, keyof SourceOptions | 'observe'>): ClusterSource;
  duties(context: ClusterDutiesContext): ClusterDuties;
}

/** @throws ConfigurationError when flags, files and environment do not name a cluster. */
export async function connectCluster(args: ControlPlaneArguments, logger: Logger): Promise<Cluster> {
  const client = createClient(args);
  const pod = podFromEnvironment();
  const zone = args.enableTopologyAwareRouting ? await findZone(client, pod, logger) : undefined;
  let duties: ClusterDuties | undefined;
  return {
    zone,
    source: (options) =>
      createClusterSource(args, { ...options, client, onChanges: (changes) => duties?.changed(changes) }),
    duties: (context) => {
      duties = createClusterDuties(args, { ...context, client, pod, logger });
      return duties;
    },
  };
}

/** @throws ConfigurationError when flags, files and environment do not name a cluster. */
export function createClient(args: ClusterArguments): KubernetesClient {
  const { kubeconfig, apiserverHost, certificateAuthority } = args;
  try {
    return createKubernetesClient({
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(apiserverHost !== undefined && { apiserverHost }),
      ...(certificateAuthority !== undefined && { certificateAuthority }),
      userAgent: `ingress-xds/${version()}`,
    });
  } catch (error) {
    throw error instanceof KubernetesConfigError ? new ConfigurationError(error.message) : error;
  }
}

async function findZone(
  client: KubernetesClient,
  pod: PodIdentity | undefined,
  logger: Logger,
): Promise<string | undefined> {
  const zone = pod && (await readNodeZone(client, pod.namespace, pod.name));
  if (zone === undefined) {
    logger.warn(
      'the zone of this node cannot be found out (POD_NAME, POD_NAMESPACE, the right to read pods and nodes): Services are served by all of their endpoints',
    );
  }
  return zone;
}
