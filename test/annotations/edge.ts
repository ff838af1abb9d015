/** What tables about the ConfigMap have in common: most keys need a table where they are set, and one where they are not. */
import { startServices } from '../envoy/behaviour/cases.ts';
import type { World } from '../parity/table.ts';
import { configMap, ingress, type Manifest } from '../support/manifests.ts';

export const HOST = 'web.edge.example.com';
/** With TLS. */
export const SECURE_HOST = 'secure.edge.example.com';

/** Two hosts that lead to `web`, and the ConfigMap. */
export async function edgeWorld(
  data: Readonly<Record<string, string>>,
  more: readonly Manifest[] = [],
): Promise<World> {
  const services = await startServices('web');
  const paths = [{ path: '/', service: 'web:80' }];
  return {
    close: services.close,
    build: { configMap: 'default/config' },
    manifests: [
      ...services.manifests,
      configMap('config', data),
      ingress({ name: 'web', rules: [{ host: HOST, paths }] }),
      ingress({ name: 'secure', rules: [{ host: SECURE_HOST, paths }], tls: [{ hosts: [SECURE_HOST] }] }),
      ...more,
    ],
  };
}
