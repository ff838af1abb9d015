import type { Template } from './template.ts';

export const loadBalancings = ['round_robin', 'ewma'] as const;

/** How endpoints share requests: one after another, or, of two at random, the one that has less to do. */
export type LoadBalancing = (typeof loadBalancings)[number];

/** Requests with an equal key go to the same endpoint while endpoints do not change. */
export interface HashBy {
  readonly key: Template;
  /** To one of so many endpoints instead, at random. */
  readonly subset?: number;
}
