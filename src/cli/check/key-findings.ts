/** What findings say of annotations whose values alone would be honoured. */
import type { AnnotationReading } from '../../ingress/annotation-reading.ts';
import type { Build } from '../../ingress/build.ts';
import { annotationField } from '../../ingress/refusal.ts';
import { hostsOf } from '../../ingress/served-ingress.ts';
import type { Diagnostic, DiagnosticCode } from '../../model/diagnostic.ts';
import { type ObjectKey, objectKey } from '../../model/object-ref.ts';

export interface KeyFinding {
  readonly state: 'invalid' | 'ignored';
  readonly note: string;
}

/** They are about a value that has been read, and that is not what holds, or not all of it. */
const OF_VALUES: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>(['AnnotationInvalid', 'AnnotationDenied']);

interface Findings {
  readonly diagnostics: readonly Diagnostic[];
  readonly build: Pick<Build, 'servedIngresses'>;
}

/** @returns what there is to say of an annotation of an Ingress beside what its declaration says; `undefined` for nothing */
export function keyFindings({
  diagnostics,
  build,
}: Findings): (ingress: ObjectKey, reading: AnnotationReading) => KeyFinding | undefined {
  const byIngress = Map.groupBy(
    diagnostics.filter(({ ref, code, ignored }) => ref?.kind === 'Ingress' && (ignored || OF_VALUES.has(code))),
    ({ ref }) => ref && objectKey(ref),
  );
  return (ingress, { key, name, outcome }) => {
    const found = byIngress.get(ingress);
    if (found === undefined || outcome.kind !== 'valid') return undefined;
    const ignored = found.flatMap((one) => (one.ignored?.annotations.includes(name) ? [one.ignored] : []));
    const [first] = ignored;
    const served = build.servedIngresses.get(ingress)?.served;
    const hosts = served === undefined ? 1 : hostsOf(served).size;
    // What is without effect on some hosts alone has some.
    if (
      first &&
      (ignored.some(({ host }) => host === undefined) || new Set(ignored.map(({ host }) => host)).size >= hosts)
    )
      return { state: 'ignored', note: first.why };
    const wrong = found.find(({ field, code }) => field === annotationField(key) && OF_VALUES.has(code));
    return wrong && { state: 'invalid', note: wrong.message };
  };
}
