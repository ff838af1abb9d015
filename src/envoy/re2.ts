import { RE2JS } from 're2js';

/** Many hosts have the same expressions. It is emptied when it is full. */
const known = new Map<string, boolean>();
const MAX_KNOWN = 4096;

/** Whether Envoy compiles the expression: one that it does not costs a whole route table. */
export function isRe2(expression: string): boolean {
  const before = known.get(expression);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const compiles = tryToCompile(expression);
  known.set(expression, compiles);
  return compiles;
}

function tryToCompile(expression: string): boolean {
  try {
    RE2JS.compile(expression);
    return true;
  } catch {
    return false;
  }
}
