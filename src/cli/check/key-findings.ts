/** What findings say of annotations beside what their values alone would be. */
import type { AnnotationReading } from '../../ingress/annotation-reading.ts';
import type { Build } from '../../ingress/build.ts';
import { annotationField } from '../../ingress/refusal.ts';
import { hostsOf, type ServedIngress } from '../../ingress/served-ingress.ts';
import type { Diagnostic, DiagnosticCode, Ignored } from '../../model/diagnostic.ts';
import { type ObjectKey, objectKey } from '../../model/object-ref.ts';

export interface KeyFinding {
  readonly state: 'approximated' | 'refused' | 'invalid' | 'ignored';
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
    diagnostics.filter(
      ({ ref, code, ignored }) =>
        ref?.kind === 'Ingress' && (ignored || OF_VALUES.has(code) || code === 'IngressRefused'),
    ),
    ({ ref }) => ref && objectKey(ref),
  );
  return (ingress, { key, name, outcome }) => {
    const found = byIngress.get(ingress);
    if (found === undefined || outcome.kind === 'invalid') return undefined;
    const ofKey = found.filter(({ field }) => field === annotationField(key));
    const refusal = ofKey.find(({ code }) => code === 'IngressRefused');
    if (refusal) return { state: 'refused', note: refusal.message };
    if (outcome.kind !== 'valid') return undefined;
    const ignored = found.flatMap((one) => (one.ignored && concerns(one.ignored, name) ? [one.ignored] : []));
    const served = build.servedIngresses.get(ingress)?.served;
    const finding = ignoredFinding(name, ignored, served);
    if (finding) return finding;
    const wrong = ofKey.find(({ code }) => OF_VALUES.has(code));
    return wrong && { state: 'invalid', note: wrong.message };
  };
}

function concerns({ annotations }: Ignored, name: string): boolean {
  return annotations === 'all' || annotations.includes(name);
}

function ignoredFinding(
  name: string,
  ignored: readonly Ignored[],
  served: ServedIngress | undefined,
): KeyFinding | undefined {
  const [first] = ignored;
  if (first === undefined) return undefined;
  const whole = ignored.find(({ parts }) => parts === undefined);
  if (whole) return { state: 'ignored', note: whole.why };
  const without = new Set(ignored.flatMap(({ parts = [] }) => parts));
  const all = partsOf(name, served);
  const counting = all.filter((part) => !without.has(part));
  if (name !== SERVER_ALIAS) return counting.length > 0 ? undefined : { state: 'ignored', note: first.why };
  // Where none can be read, that is what is wrong.
  if (all.length === 0) return undefined;
  if (counting.length === 0) return { state: 'ignored', note: first.why };
  const note = `what counts: ${shortList(counting)}; what does not, as the findings say: ${shortList([...without])}`;
  return { state: 'approximated', note };
}

const SERVER_ALIAS = 'server-alias';

/** Everything for which an annotation may have an effect, as findings name it. */
function partsOf(name: string, served: ServedIngress | undefined): readonly string[] {
  if (served === undefined) return [];
  if (name === SERVER_ALIAS) return served.host.aliases ?? [];
  if (served.canary === undefined) return [...hostsOf(served)];
  const paths = served.rules.flatMap((rule) => rule.paths.map(({ field }) => field));
  return served.catchAll ? ['spec.defaultBackend'] : paths;
}

const SHOWN = 5;

function shortList(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return `${names.slice(0, SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
