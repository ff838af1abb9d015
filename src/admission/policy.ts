import { readConfigMap } from '../ingress/config-map/reading.ts';
import type { ProxyName } from '../ingress/declaration/support.ts';

/** What the ConfigMap (`--configmap`) says about the Ingresses that may be stored. */
export interface AdmissionPolicy {
  /** `strict-validate-path-type`: `Exact` and `Prefix` paths hold nothing but letters, digits and `/ . _ -`. */
  readonly strictPathTypes: boolean;
  /** `allow-snippet-annotations` */
  readonly allowSnippets: boolean;
}

/** Keys that are absent, empty or not readable have the default of ingress-nginx. */
export function readPolicy(data: Readonly<Record<string, string>>, proxy: ProxyName): AdmissionPolicy {
  const { values } = readConfigMap(data, proxy);
  return {
    strictPathTypes: values['strict-validate-path-type'],
    allowSnippets: values['allow-snippet-annotations'],
  };
}
