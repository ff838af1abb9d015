import type { Diagnostic } from './diagnostic.ts';

export interface DiagnosticChange {
  readonly added: readonly Diagnostic[];
  readonly removed: readonly Diagnostic[];
}

/** What is new and what is gone, in time proportional to both: one object may give thousands. */
export function compareDiagnostics(before: readonly Diagnostic[], now: readonly Diagnostic[]): DiagnosticChange {
  if (before === now) return { added: [], removed: [] };
  if (before.length === 0 || now.length === 0) return { added: now, removed: before };
  const [known, present] = [new Set(before.map(identity)), new Set(now.map(identity))];
  return {
    added: now.filter((one) => !known.has(identity(one))),
    removed: before.filter((one) => !present.has(identity(one))),
  };
}

/** The same change without what only went from one place to another: nobody needs to hear of that. */
export function withoutMoves({ added, removed }: DiagnosticChange): DiagnosticChange {
  if (added.length === 0 || removed.length === 0) return { added, removed };
  return compareDiagnostics(removed, added);
}

function identity({ severity, code, message, ref, field, source }: Diagnostic): string {
  return JSON.stringify([
    severity,
    code,
    message,
    ref && [ref.kind, ref.namespace, ref.name],
    field,
    source && [source.file, source.line, source.column],
  ]);
}
