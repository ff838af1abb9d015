import type { Diagnostic, SourcePosition } from '../model/diagnostic.ts';
import { describeRef } from '../model/object-ref.ts';
import type { Source } from './source.ts';
import { visible } from './visible.ts';

/** `deploy/shop.yaml:12:9 Ingress shop/web spec.rules[0].host: "a b" is no DNS name (IngressHostInvalid)` */
export function describeDiagnostic(diagnostic: Diagnostic, locate?: Source['locate']): string {
  const { ref, field, message, code } = diagnostic;
  const source = positionOf(diagnostic, locate);
  const position = source && `${source.file}:${source.line}:${source.column}`;
  const about = [position, ref && describeRef(ref), field]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
  return visible(`${about === '' ? '' : `${about}: `}${message} (${code})`);
}

/** Where in the files that is which a Diagnostic is about, as far as anybody knows. */
export function positionOf({ source, ref, field }: Diagnostic, locate?: Source['locate']): SourcePosition | undefined {
  return source ?? (ref && locate?.(ref, field));
}
