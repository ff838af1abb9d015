/** Clusters that take a part of the requests of a route. */
import type { ClusterReference, Origin } from './proxy-model.ts';

/**
 * Another cluster for some of the requests of a route. The rules are asked one after another, of all canaries before any weight:
 * a session, the header, the cookie.
 */
export interface Canary {
  readonly cluster: ClusterReference;
  /** As that of the route. */
  readonly plainCluster?: ClusterReference;
  readonly header?: CanaryHeader;
  /** Name of a cookie: `always` leads to the canary, `never` to the cluster of the route. */
  readonly cookie?: string;
  /** Share of the requests that no rule decides, in millionths; those of all canaries of a route are 1,000,000 at most. */
  readonly millionths: number;
  /** With session affinity, who came to one side stays there, whatever the rules say. */
  readonly sticky: boolean;
  readonly origin: Origin;
}

/**
 * A header of the request, its name in lower case. With a value, or an expression (RE2) that is looked for in it: what
 * fits goes to the canary. With neither: `always` goes to the canary, `never` to the cluster of the route.
 */
export interface CanaryHeader {
  readonly name: string;
  readonly value?: string;
  readonly pattern?: string;
}
