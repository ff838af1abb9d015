/**
 * Keys of the ConfigMap about how requests arrive: a world where all are absent, one where no value can be read, and others where they
 * are set.
 */
import { startServices } from '../envoy/behaviour/cases.ts';
import type { World } from '../parity/table.ts';
import { configMap, ingress, type Manifest } from '../support/manifests.ts';

export const HOST = 'web.edge.example.com';

/** One host that leads to `web`, and the ConfigMap. */
export async function edgeWorld(
  data: Readonly<Record<string, string>>,
  more: readonly Manifest[] = [],
): Promise<World> {
  const services = await startServices('web');
  return {
    close: services.close,
    build: { configMap: 'default/config' },
    manifests: [
      ...services.manifests,
      configMap('config', data),
      ingress({ name: 'web', rules: [{ host: HOST, paths: [{ path: '/', service: 'web:80' }] }] }),
      ...more,
    ],
  };
}
