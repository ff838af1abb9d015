import type { Service } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic, DiagnosticCode } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { ClusterReference } from '../model/proxy-model.ts';
import { reference } from './backend.ts';
import { diagnose } from './diagnose.ts';

/** Where requests go that no Ingress wants. */
export interface DefaultBackend {
  /** Absent: they are not found. */
  readonly cluster?: ClusterReference;
  readonly diagnostics: readonly Diagnostic[];
}

export const DEFAULT_BACKEND = 'default';

/** One unit: the first port of the Service in `--default-backend-service`, as in ingress-nginx. */
export function deriveDefaultBackend(
  engine: Engine,
  services: Table<Service>,
  key: ObjectKey | undefined,
): Table<DefaultBackend> {
  return engine.derive<DefaultBackend>('default-backend', [DEFAULT_BACKEND], (_, read) => {
    if (key === undefined) return { diagnostics: [] };
    const ref = objectRef('Service', key);
    const refuse = (code: DiagnosticCode, reason: string): DefaultBackend => {
      const message = `Service ${key} (--default-backend-service) ${reason}; unknown hosts and paths answer 404`;
      return { diagnostics: [diagnose(ref, 'error', code, message)] };
    };
    const service = read(services, key);
    if (service === undefined) return refuse('ServiceNotFound', 'does not exist');
    const port = service.ports.find(({ protocol }) => protocol === 'TCP');
    if (port === undefined) return refuse('ServicePortNotFound', 'has no TCP port');
    return { cluster: reference(ref.namespace, ref.name, String(port.port)), diagnostics: [] };
  });
}
