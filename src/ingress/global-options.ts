import type { ConfigMap } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { diagnose } from './diagnose.ts';
import { protectiveKeys } from './protective.ts';

/** What the ConfigMap (`--configmap`) asks of every host. */
export interface GlobalOptions {
  /** Keys that protect every backend; while there is one, all of them are closed. */
  readonly protective: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

export const GLOBAL = 'global';

/** One unit; without a ConfigMap everything is at its default. */
export function deriveGlobalOptions(
  engine: Engine,
  configMaps: Table<ConfigMap>,
  configMap: ObjectKey | undefined,
): Table<GlobalOptions> {
  return engine.derive<GlobalOptions>('global-options', [GLOBAL], (_, read) => {
    const data = configMap === undefined ? undefined : read(configMaps, configMap)?.data;
    if (configMap === undefined || data === undefined) return { protective: [], diagnostics: [] };
    const protective = protectiveKeys(data);
    if (protective.length === 0) return { protective, diagnostics: [] };
    const message = `${protective.join(', ')}: not supported yet; every path of every Ingress answers 503`;
    const ref = objectRef('ConfigMap', configMap);
    return { protective, diagnostics: [diagnose(ref, 'error', 'ProtectionUnavailable', message, 'data')] };
  });
}
