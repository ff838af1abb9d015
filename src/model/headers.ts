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

/**
 * A value in an answer of a backend. `from` is a literal, replaced by `to`; with `isPattern` an expression in which nothing but the dot
 * has a meaning of its own: where a part of the value matches, the whole value is replaced.
 */
export interface ValueRewrite {
  readonly from: string;
  readonly isPattern?: true;
  readonly to: string;
}

/** What is made of addresses in the answers of backends. */
export interface AnswerRewrites {
  /** Of `Location` and `Refresh`, where the URL begins with `from`. */
  readonly location?: ValueRewrite;
  /** Of `Domain` in cookies, where it equals `from` in any case; a dot in front of it stays and does not count. */
  readonly cookieDomain?: ValueRewrite;
  /** Of `Path` in cookies, where it begins with `from`. */
  readonly cookiePath?: ValueRewrite;
}
