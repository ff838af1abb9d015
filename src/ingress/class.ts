import type { Ingress, IngressClass } from '../cluster/objects.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectKey, objectRef } from '../model/object-ref.ts';
import { diagnose, quote } from './diagnose.ts';

/** The flags that decide which Ingresses are ours. */
export interface ClassOptions {
  /** `--ingress-class`: the value of the old annotation, and with `ingressClassByName` the name of an IngressClass. */
  readonly ingressClass: string;
  /** `--controller-class`: the `spec.controller` of IngressClasses that are ours. */
  readonly controllerClass: string;
  readonly ingressClassByName: boolean;
  readonly watchIngressWithoutClass: boolean;
  /** Where no IngressClass object exists at all (a folder of plain manifests) the name `ingressClass` is ours. */
  readonly classNameWithoutObjects: boolean;
}

/** IngressClasses, asked for one by one so that a unit depends only on what its answer took. */
export interface ClassLookup {
  get(name: string): IngressClass | undefined;
  anyExists(): boolean;
}

const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

/**
 * Why an Ingress is not ours, with what would change it; `undefined` if it is ours. `spec.ingressClassName` decides alone where
 * it is set, then the old annotation, then `watchIngressWithoutClass`.
 */
export function refuseClass(ingress: Ingress, classes: ClassLookup, options: ClassOptions): Diagnostic | undefined {
  const annotation = ingress.annotations[CLASS_ANNOTATION];
  if (ingress.ingressClassName !== undefined) return refuseName(ingress, ingress.ingressClassName, classes, options);
  if (annotation !== undefined) return refuseAnnotation(ingress, annotation, options);
  if (options.watchIngressWithoutClass) return undefined;
  return diagnose(
    objectRef('Ingress', objectKey(ingress)),
    'info',
    'IngressClassMissing',
    `names no class; set spec.ingressClassName to a class of controller ${quote(options.controllerClass)}, or run with --watch-ingress-without-class`,
  );
}

function refuseName(
  ingress: Ingress,
  name: string,
  classes: ClassLookup,
  options: ClassOptions,
): Diagnostic | undefined {
  const ref = objectRef('Ingress', objectKey(ingress));
  const named = classes.get(name);
  if (named === undefined) {
    if (options.classNameWithoutObjects && name === options.ingressClass && !classes.anyExists()) return undefined;
    return diagnose(
      ref,
      'info',
      'IngressClassMissing',
      `IngressClass ${quote(name)} does not exist; create it with spec.controller ${quote(options.controllerClass)}, or name another class`,
      'spec.ingressClassName',
    );
  }
  if (named.controller === options.controllerClass) return undefined;
  if (options.ingressClassByName && name === options.ingressClass) return undefined;
  return diagnose(
    ref,
    'info',
    'IngressClassForeign',
    `IngressClass ${quote(name)} belongs to controller ${quote(named.controller)}; name a class of controller ${quote(options.controllerClass)}`,
    'spec.ingressClassName',
  );
}

function refuseAnnotation(ingress: Ingress, value: string, options: ClassOptions): Diagnostic | undefined {
  if (value === options.ingressClass) return undefined;
  return diagnose(
    objectRef('Ingress', objectKey(ingress)),
    'info',
    'IngressClassForeign',
    `annotation ${CLASS_ANNOTATION} is ${quote(value)}; ${quote(options.ingressClass)} is served here`,
    'metadata.annotations',
  );
}
