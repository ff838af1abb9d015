/** What all features together make of the annotations of one Ingress. */
import type { Engine, Table } from '../derive.ts';
import { type AnnotationReading, valuesByFeature } from './annotation-reading.ts';
import { annotationFeatures } from './annotations/index.ts';
import type { Effects, FeatureContext, Finding } from './declaration/annotation.ts';
import type { ProxyName } from './declaration/support.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';

/** The effects of all features as one. */
export interface MergedEffects extends Required<Pick<Effects, 'route' | 'cluster' | 'host'>>, Pick<Effects, 'canary'> {
  readonly denied: readonly Finding[];
  readonly warnings: readonly Finding[];
}

const NO_VALUES = {};

export function effectsOf(readings: readonly AnnotationReading[], context: FeatureContext): MergedEffects {
  const values = valuesByFeature(readings);
  const [route, cluster, host] = [{}, {}, {}];
  let canary: Effects['canary'];
  const denied: Finding[] = [];
  const warnings: Finding[] = [];
  for (const feature of annotationFeatures) {
    const effects = feature.apply?.(values.get(feature) ?? NO_VALUES, context);
    if (effects === undefined) continue;
    // Most features have one effect: the others are not copied from nothing.
    if (effects.route) Object.assign(route, effects.route);
    if (effects.cluster) Object.assign(cluster, effects.cluster);
    if (effects.host) Object.assign(host, effects.host);
    canary ??= effects.canary;
    if (effects.denied) denied.push(...effects.denied);
    if (effects.warnings) warnings.push(...effects.warnings);
  }
  return { route, cluster, host, denied, warnings, ...(canary && { canary }) };
}

/** One unit, `GLOBAL`: what the ConfigMap asks for where no Ingress has a say. */
export function deriveDefaultEffects(
  engine: Engine,
  globalOptions: Table<GlobalOptions>,
  proxy: ProxyName,
): Table<MergedEffects> {
  return engine.derive<MergedEffects>('default-effects', [GLOBAL], (_, read) => {
    const options = read(globalOptions, GLOBAL);
    const nothing = () => undefined;
    return (
      options &&
      effectsOf([], {
        ingress: { namespace: '', name: '', rules: [], tls: [] },
        proxy,
        global: options.values,
        configMap: nothing,
        secret: nothing,
        service: nothing,
      })
    );
  });
}
