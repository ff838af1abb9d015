import type { ConfigMap } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, type ObjectRef, objectRef } from '../model/object-ref.ts';
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
    if (configMap === undefined) return { protective: [], diagnostics: [] };
    const ref = objectRef('ConfigMap', configMap);
    const data = read(configMaps, configMap)?.data;
    if (data === undefined) {
      const message = 'does not exist (--configmap); everything is at its default';
      return { protective: [], diagnostics: [diagnose(ref, 'warning', 'ConfigMapNotFound', message)] };
    }
    const protective = protectiveKeys(data);
    return { protective, diagnostics: reportKeys(ref, data, protective) };
  });
}

function reportKeys(ref: ObjectRef, data: ConfigMap['data'], protective: readonly string[]): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  if (protective.length > 0) {
    const message = `${protective.join(', ')}: not supported yet; every path of every Ingress answers 503`;
    diagnostics.push(diagnose(ref, 'error', 'ProtectionUnavailable', message, 'data'));
  }
  const others = Object.keys(data).filter((key) => data[key]?.trim() !== '' && !protective.includes(key));
  if (others.length > 0) {
    const message = `${others.toSorted().join(', ')}: not supported yet and without effect`;
    diagnostics.push(diagnose(ref, 'warning', 'ConfigMapKeyUnsupported', message, 'data'));
  }
  return diagnostics;
}
