import type { Diagnostic } from '../model/diagnostic.ts';
import type { Route } from '../model/proxy-model.ts';

/** What is told about a route, at the Ingress and the field that made it. */
export function routeDiagnostic(
  { origin }: Pick<Route, 'origin'>,
  diagnostic: Pick<Diagnostic, 'severity' | 'code' | 'message'>,
): Diagnostic {
  if (origin === undefined) return diagnostic;
  const [namespace = '', name = ''] = origin.ingress.split('/');
  return { ...diagnostic, ref: { kind: 'Ingress', namespace, name }, field: origin.field };
}
