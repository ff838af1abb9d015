/** What is to be said of the manifests as a whole: that they are hardly what was to be checked. */
import type { ClusterState } from '../../cluster/cluster-state.ts';
import { configMapKeys } from '../../ingress/config-map/keys.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { objectRef } from '../../model/object-ref.ts';
import type { CheckedWorld, IngressReport } from './report.ts';

export function wholeFindings(
  { state, options, diagnostics, fromFolder }: CheckedWorld,
  ingresses: readonly IngressReport[],
): Diagnostic[] {
  return [
    ...(options.configMap === undefined ? unnamedConfigMaps(state) : []),
    ...(ingresses.length === 0 ? [noIngresses(fromFolder)] : []),
    ...(ingresses.length > 0 && ingresses.every(({ state: one }) => one === 'not ours')
      ? [noneOfOurs(ingresses.length, diagnostics)]
      : []),
  ];
}

/** It looks like success, and is more often a wrong folder. */
function noIngresses(fromFolder: boolean): Diagnostic {
  const where = fromFolder ? 'among the manifests' : 'in what was read of the cluster';
  return missing(`there is no Ingress ${where}, so nothing was checked`);
}

/** It looks like success too, and is more often a wrong class. */
function noneOfOurs(count: number, diagnostics: readonly Diagnostic[]): Diagnostic {
  const classes = diagnostics.filter(({ code }) => code === 'IngressClassForeign' || code === 'IngressClassMissing');
  const reasons = [...new Set(classes.map(({ message }) => message))];
  const others = reasons.length - 1;
  const more = others > 0 ? `; and ${others} other ${others === 1 ? 'reason' : 'reasons'}, said at each` : '';
  const which = count === 1 ? 'the only Ingress is not ours' : `none of the ${count} Ingresses is ours`;
  return missing(`${which}, so nothing is served: ${reasons[0] ?? ''}${more}`);
}

function missing(message: string): Diagnostic {
  return { severity: 'warning', code: 'IngressesMissing', message };
}

/** ConfigMaps that hold keys of ours, and are not read because nobody has named one. */
function unnamedConfigMaps({ configMaps }: ClusterState): Diagnostic[] {
  return [...configMaps.keys()].toSorted().flatMap((key): Diagnostic[] => {
    const known = Object.keys(configMaps.get(key)?.data ?? {}).filter((name) => Object.hasOwn(configMapKeys, name));
    if (known.length === 0) return [];
    const message = `it holds ${known.slice(0, 3).join(', ')}${known.length > 3 ? ' and more' : ''} like that of the controller; --configmap ${key} lets it count`;
    return [{ severity: 'warning', code: 'ConfigMapNotNamed', ref: objectRef('ConfigMap', key), message }];
  });
}
