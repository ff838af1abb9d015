import type { Template } from './template.ts';

/** A header with a constant value. Names are as they were written; their case does not count. */
export interface Header {
  readonly name: string;
  /** Printable ASCII, not empty. */
  readonly value: string;
}

/** A header whose value may depend on the request. */
export interface HeaderTemplate {
  readonly name: string;
  /** Not empty. */
  readonly value: Template;
}

/** `set` replaces what is there. No name is in both. */
export interface HeaderChanges {
  readonly set: readonly HeaderTemplate[];
  readonly remove: readonly string[];
}
