/**
 * Names that a client asks for in another case than the snapshot holds them. A TLS client may write a server name in any case,
 * and a proxy that looks up certificates by server name asks for it as it was written and wants the answer under that name.
 */

/** Of one name. Real clients use one or two; a hostile one has 2ⁿ, and each costs the proxy memory that it never frees. */
export const MAX_SPELLINGS = 8;

export class Spellings {
  /** Lower case → the other spellings that are asked for. */
  private readonly byName = new Map<string, Set<string>>();

  /** Does nothing for a name in lower case, nor for one spelling too many: that one is as good as unknown. */
  add(spelling: string): void {
    const name = spelling.toLowerCase();
    if (name === spelling) return;
    const spellings = this.byName.get(name) ?? new Set();
    this.byName.set(name, spellings);
    if (spellings.size < MAX_SPELLINGS) spellings.add(spelling);
  }

  delete(spelling: string): void {
    const name = spelling.toLowerCase();
    const spellings = this.byName.get(name);
    if (spellings === undefined) return;
    spellings.delete(spelling);
    if (spellings.size === 0) this.byName.delete(name);
  }

  /** The name that this is another spelling of; `undefined` for what was not added. */
  nameOf(spelling: string): string | undefined {
    const name = spelling.toLowerCase();
    return this.byName.get(name)?.has(spelling) ? name : undefined;
  }

  /** The other spellings of a name in lower case. */
  of(name: string): Iterable<string> {
    return this.byName.get(name) ?? [];
  }
}
