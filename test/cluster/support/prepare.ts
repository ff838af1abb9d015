import { findEnvoy } from '../../../src/envoy/binary.ts';
import { ensureBinaries } from './binaries.ts';
import { prepareHost } from './namespace.ts';

/**
 * Everything that needs the network or time, before the namespace is entered: programs of the host, Envoy, Kubernetes.
 * @throws Error that says what is missing.
 */
export async function prepare(onProgress: (line: string) => void): Promise<void> {
  await prepareHost(onProgress);
  const { path, version } = await findEnvoy({ onProgress });
  onProgress(`Envoy ${version} (${path})`);
  const { kubeApiServer } = await ensureBinaries(onProgress);
  onProgress(`kube-apiserver (${kubeApiServer})`);
}
