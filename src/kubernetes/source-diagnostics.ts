import type { Diagnostic } from '../model/diagnostic.ts';
import { compareDiagnostics, type DiagnosticChange } from '../model/diagnostic-change.ts';
import { describeGrant, type WatchedKind } from './kinds.ts';
import type { Fault } from './reflector.ts';

/** Where a fault happened: the objects of a kind, perhaps of one namespace, perhaps only one. */
interface Place {
  readonly kind: WatchedKind;
  readonly namespace?: string;
  readonly name?: string;
}

interface PlacedFault {
  readonly place: Place;
  readonly fault: Fault;
  readonly isOptional: boolean;
}

/** What is wrong between the API server and here, and with the shape of objects. */
export class SourceDiagnostics {
  private readonly onChange: (change: DiagnosticChange) => void;
  private readonly origins: (() => readonly Diagnostic[])[] = [];
  private readonly faults = new Map<Place, PlacedFault>();
  /** The first of those without an answer: the others say the same. */
  private unreachable: Diagnostic | undefined;
  private present: readonly Diagnostic[] = [];
  private isPending = false;

  constructor(onChange: (change: DiagnosticChange) => void) {
    this.onChange = onChange;
  }

  /** Asked each time for everything that it has to say. */
  addOrigin(origin: () => readonly Diagnostic[]): void {
    this.origins.push(origin);
  }

  setFault(place: Place, fault: Fault | undefined, isOptional: boolean): void {
    if (fault === undefined) this.faults.delete(place);
    else this.faults.set(place, { place, fault, isOptional });
    this.tellSoon();
  }

  all(): readonly Diagnostic[] {
    const faults = [...this.faults.values()];
    const silent = faults.find(({ fault }) => !isRefusal(fault));
    this.unreachable = silent === undefined ? undefined : (this.unreachable ?? describeSilence(silent));
    return [
      ...(this.unreachable === undefined ? [] : [this.unreachable]),
      ...faults.filter(({ fault }) => isRefusal(fault)).map(describeRefusal),
      ...this.origins.flatMap((origin) => origin()),
    ];
  }

  /** What changed is told once for what changes together: a list may bring thousands. */
  tellSoon(): void {
    if (this.isPending) return;
    this.isPending = true;
    setImmediate(() => {
      this.isPending = false;
      const before = this.present;
      this.present = this.all();
      const change = compareDiagnostics(before, this.present);
      if (change.added.length > 0 || change.removed.length > 0) this.onChange(change);
    });
  }
}

/** The API server said no, in contrast to no answer or one that says "not now". */
function isRefusal({ status }: Fault): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 410 && status !== 429;
}

function describeSilence({ fault }: PlacedFault): Diagnostic {
  const message = `What was read from the API server stays in force, changes are not seen: ${fault.message}`;
  return { severity: 'warning', code: 'ApiServerUnavailable', message };
}

function describeRefusal({ place, fault, isOptional }: PlacedFault): Diagnostic {
  const { kind, namespace, name } = place;
  const where = namespace === undefined ? 'in all namespaces' : `in the namespace ${namespace}`;
  const scope = kind === 'IngressClass' || kind === 'Namespace' ? '' : ` ${where}`;
  const grant = `the verbs list and watch on ${describeGrant(kind)}${scope}${name === undefined ? '' : ` for ${name}`}`;
  const remedy = fault.status === 403 ? `; grant ${grant}` : '';
  const consequence = isOptional
    ? 'Ingresses are selected by the annotation kubernetes.io/ingress.class only'
    : 'What was read before stays in force, and without it nothing is served';
  return {
    severity: isOptional ? 'warning' : 'error',
    code: 'ApiServerRefuses',
    message: `Objects of the kind ${kind} cannot be read${remedy}. ${consequence}. ${fault.message}`,
  };
}
