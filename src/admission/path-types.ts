import type { Ingress } from '../cluster/objects.ts';
import { quote } from '../ingress/diagnose.ts';

const PLAIN_PATH = /^\/[\w./-]*$/;

/** Paths that look like regular expressions although their type compares them as text. */
export function* pathsAgainstTheirType({ rules }: Ingress): Iterable<string> {
  for (const [rule, { paths }] of rules.entries()) {
    for (const [index, { path, pathType }] of paths.entries()) {
      if (path === undefined || path === '' || pathType === 'ImplementationSpecific' || PLAIN_PATH.test(path)) continue;
      yield `spec.rules[${rule}].http.paths[${index}].path: ${quote(path)} cannot be used with pathType ${pathType}, which takes letters, digits and / . _ - only`;
    }
  }
}
