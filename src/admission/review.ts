/** Whether an Ingress may be stored: the decisions of ingress-nginx, in its order, and what else there is to say about it. */
import { decodeObject } from '../cluster/decode.ts';
import { member } from '../cluster/decode-fields.ts';
import type { Ingress } from '../cluster/objects.ts';
import { inspectDeeply } from '../ingress/deep-inspection.ts';
import { quote } from '../ingress/diagnose.ts';
import type { Diagnostic, Severity } from '../model/diagnostic.ts';
import { describeRef, objectKey } from '../model/object-ref.ts';
import { findOverlap } from './overlap.ts';
import { pathsAgainstTheirType } from './path-types.ts';
import { type AdmissionPolicy, readPolicy } from './policy.ts';
import type { ReviewRequest } from './request.ts';
import { joinReasons, limitWarnings } from './texts.ts';
import { type Outcome, whatIf } from './what-if.ts';
import { type AdmissionWorld, isOurs } from './world.ts';

export interface Verdict {
  /** Why the Ingress may not be stored; absent: it may. */
  readonly denial?: string;
  readonly warnings: readonly string[];
  /** What came out when it was built; absent when that was not needed to decide. */
  readonly outcome?: Outcome;
}

const ALLOWED: Verdict = { warnings: [] };
const DEFAULT_PREFIX = 'nginx.ingress.kubernetes.io';
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

/**
 * Pure, and without effects: a dry run is reviewed like any other. The first pause comes when only the build is left to do; after it
 * the world is not read again.
 */
export function* reviewIngress(request: ReviewRequest, world: AdmissionWorld): Generator<void, Verdict, void> {
  // What is deleted is not judged: an Ingress that is wrong must always be possible to remove.
  const metadata = member(request.object, 'metadata');
  if (request.operation === 'DELETE' || member(metadata, 'deletionTimestamp').value !== undefined) return ALLOWED;
  const { objects, problems } = decodeObject(request.object.value, {
    keepResourceVersion: true,
    defaultNamespace: request.namespace,
  });
  const [ingress] = objects;
  if (ingress?.kind !== 'Ingress') {
    const errors = problems.filter(({ severity }) => severity === 'error');
    const reasons = errors.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`));
    return deny(reasons.length > 0 ? reasons : ['the object is no Ingress of networking.k8s.io/v1']);
  }
  const { options } = world;
  const dangers = options.deepInspect === false ? [] : inspectDeeply(ingress);
  if (dangers.length > 0) return deny(dangers.map(({ field, reason }) => `${field}: ${reason}`));
  if (!isOurs(ingress, world) || !world.watches(ingress.namespace)) return ALLOWED;
  const data = options.configMap === undefined ? undefined : configMapData(options.configMap, world);
  const policy = readPolicy(data ?? {}, options.proxy);
  const violations = firstViolations(ingress, member(metadata, 'uid').value, policy, world);
  if (violations.length > 0) return deny(violations);
  const overlap = findOverlap(ingress, world);
  const outcome = yield* whatIf(ingress, world);
  const refusals = outcome.diagnostics.filter(({ code }) => code === 'IngressRefused');
  if (refusals.length > 0) return { ...deny(refusals.map((refusal) => describe(refusal, ingress))), outcome };
  if (overlap !== undefined) return { ...deny([overlap]), outcome };
  const told = (wanted: Severity) =>
    outcome.diagnostics.filter(({ severity }) => severity === wanted).map((one) => describe(one, ingress));
  const warnings = limitWarnings([
    ...told('error'),
    ...pathsAgainstTheirType(ingress),
    ...problems.map(({ field, message }) => `${field}: ${message}`),
    ...told('warning'),
  ]);
  return { warnings, outcome };
}

/** Everything that one rule holds against an Ingress; the rules are asked in the order of ingress-nginx. */
function firstViolations(
  ingress: Ingress,
  uid: unknown,
  policy: AdmissionPolicy,
  { options }: AdmissionWorld,
): readonly string[] {
  if (options.disableCatchAll && ingress.defaultBackend !== undefined)
    return ['spec.defaultBackend: a default backend is refused by --disable-catch-all'];
  if (typeof uid !== 'string' || !UUID.test(uid)) return ['metadata.uid: no UUID'];
  const paths = policy.strictPathTypes ? [...pathsAgainstTheirType(ingress)] : [];
  if (paths.length > 0) return paths;
  return annotationViolations(ingress, policy, options.annotationsPrefix);
}

function annotationViolations({ annotations }: Ingress, policy: AdmissionPolicy, prefix: string): string[] {
  const keys = Object.keys(annotations);
  const reasons = (offending: readonly string[], reason: string) =>
    offending.map((key) => `metadata.annotations[${quote(key)}]: ${reason}`);
  const foreign = prefix === DEFAULT_PREFIX ? [] : keys.filter((key) => key.startsWith(`${DEFAULT_PREFIX}/`));
  if (foreign.length > 0) return reasons(foreign, `the prefix of annotations is ${prefix} here (--annotations-prefix)`);
  const snippets = policy.allowSnippets ? [] : keys.filter((key) => key.endsWith('-snippet'));
  return reasons(snippets, 'snippets are not allowed here (allow-snippet-annotations)');
}

function configMapData(key: string, { state }: AdmissionWorld): Readonly<Record<string, string>> | undefined {
  return state.configMaps.get(key)?.data;
}

function deny(reasons: readonly string[]): Verdict {
  return { denial: joinReasons(reasons), warnings: [] };
}

/** `spec.rules[0].host: "a b" is no DNS name (IngressHostInvalid)`, with the object where it is another than the Ingress. */
function describe({ ref, field, message, code }: Diagnostic, ingress: Ingress): string {
  const another = ref !== undefined && (ref.kind !== 'Ingress' || objectKey(ref) !== objectKey(ingress));
  const about = [another ? describeRef(ref) : undefined, field].filter((part) => part !== undefined).join(' ');
  return `${about === '' ? '' : `${about}: `}${message} (${code})`;
}
