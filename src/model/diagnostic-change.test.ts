import { expect, it } from 'vitest';
import type { Diagnostic } from './diagnostic.ts';
import { compareDiagnostics, withoutMoves } from './diagnostic-change.ts';

function conflict(index: number, more: Partial<Diagnostic> = {}): Diagnostic {
  const ref = { kind: 'Ingress', namespace: 'shop', name: 'web' };
  return { severity: 'warning', code: 'PathConflict', message: 'lost', ref, field: `spec.rules[${index}]`, ...more };
}

it('tells what is new and what is gone', () => {
  const before = [conflict(0), conflict(1), conflict(2)];
  const now = [conflict(1), conflict(2, { message: 'lost twice' }), conflict(3)];
  expect(compareDiagnostics(before, now)).toEqual({
    added: [conflict(2, { message: 'lost twice' }), conflict(3)],
    removed: [conflict(0), conflict(2)],
  });
});

it.each<Partial<Diagnostic>>([
  { severity: 'error' },
  { code: 'ServiceNotFound' },
  { field: 'spec' },
  { ref: { kind: 'Ingress', namespace: 'shop', name: 'api' } },
  { source: { file: 'a.yaml', line: 1, column: 1 } },
])('takes Diagnostics that differ in %j for two', (more) => {
  expect(compareDiagnostics([conflict(0)], [conflict(0, more)])).toMatchObject({ added: [{}], removed: [{}] });
});

it('takes a moment for thousands', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => conflict(index));
  const begin = performance.now();
  expect(compareDiagnostics(many, many.toReversed())).toEqual({ added: [], removed: [] });
  // Comparing each with each takes minutes.
  expect(performance.now() - begin).toBeLessThan(5_000);
});

it('leaves out what went from one place to another', () => {
  const added = [conflict(0), conflict(1)];
  expect(withoutMoves({ added, removed: [conflict(1), conflict(2)] })).toEqual({
    added: [conflict(0)],
    removed: [conflict(2)],
  });
  expect(withoutMoves({ added, removed: [] })).toEqual({ added, removed: [] });
});
