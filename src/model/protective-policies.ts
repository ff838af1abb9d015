import type { RoutePolicy } from './proxy-model.ts';

/** The policies that keep requests away from a backend. */
export const PROTECTIVE_POLICIES = ['addresses'] as const satisfies readonly (keyof RoutePolicy)[];
