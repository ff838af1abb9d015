/** From the bytes of an AdmissionReview to the answer: reviews share the event loop with everything else, so they take turns. */
import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Engine } from '../derive.ts';
import type { Build, BuildOptions } from '../ingress/build.ts';
import { parseJson } from './json.ts';
import { type ReviewRequest, readReview, reviewResponse } from './request.ts';
import { reviewIngress, type Verdict } from './review.ts';
import { Slots } from './slots.ts';
import { shorten } from './texts.ts';
import { type AdmissionWorld, indexIngressesByHost } from './world.ts';

export interface ReviewerOptions {
  /** Gets an index of its own, so the reviewer is made before the first pass. */
  readonly engine: Engine;
  readonly state: ClusterState;
  readonly build: Pick<Build, 'servedIngresses'>;
  readonly options: BuildOptions;
  /** Whether the namespace is watched; default: every one. */
  readonly watches?: (namespace: string) => boolean;
  /** The proxy's own checks, such as `createEmitter`; best without what serves large numbers of hosts. */
  readonly emit?: AdmissionWorld['emit'];
  /** Whether everything has been read and built once: nobody can judge by an empty cluster. */
  readonly synced: () => boolean;
  readonly onReviewed?: (review: Reviewed) => void;
  /** Milliseconds, monotonic; tests put their own in its place. */
  readonly now?: () => number;
}

/** A review that came to a decision: for the log and the metrics. */
export interface Reviewed {
  readonly operation: string;
  /** Of the Ingress, as the request says: text of a stranger, on one line. */
  readonly namespace: string;
  readonly name: string;
  readonly denial?: string;
  readonly warnings: readonly string[];
  /** Absent when the Ingress did not have to be built to decide. */
  readonly built?: {
    readonly ingresses: number;
    readonly bytes: number;
    /** From the first check until the build began, and from there to its end. */
    readonly checkSeconds: number;
    readonly buildSeconds: number;
  };
  /** From the body to the decision, waiting included. */
  readonly seconds: number;
}

/** An HTTP answer; `body` is JSON for 200, else text. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

export interface Reviewer {
  /** Never rejects. Gives up, with 503, once `signal` is aborted: nobody waits for the answer any more. */
  review(body: Buffer, signal: AbortSignal): Promise<Reply>;
}

const MAX_RUNNING = 4;
/** How long a review may hold the event loop. */
const SLICE_MS = 10;
/** API servers wait 10 s as a rule. */
const DEADLINE_MS = 9000;
const MAX_NAME_LENGTH = 253;

export function createReviewer(options: ReviewerOptions): Reviewer {
  const { state, build, synced, now = () => performance.now(), onReviewed } = options;
  const world: AdmissionWorld = {
    state,
    ingressesByHost: indexIngressesByHost(options.engine, state),
    servedIngresses: build.servedIngresses,
    options: options.options,
    watches: options.watches ?? (() => true),
    ...(options.emit && { emit: options.emit }),
  };
  const slots = new Slots(MAX_RUNNING);
  return {
    review: (body, signal) => {
      const arrival = now();
      return slots.run(async () => {
        if (signal.aborted) return unavailable('nobody waits for the answer');
        // An allowance without having looked, or a denial of what may be right: the operator's failurePolicy decides instead.
        if (!synced()) return unavailable('the cluster has not been read yet');
        const read = readBody(body);
        if ('fault' in read) return { status: read.fault.status, body: `${read.fault.reason}\n` };
        try {
          const timed = await runInSlices(read.request, world, { arrival, now, signal });
          if (timed === undefined) return unavailable('the review took too long');
          onReviewed?.(describeReview(read.request, timed, now() - arrival));
          return { status: 200, body: JSON.stringify(reviewResponse(read.request.uid, timed.verdict)) };
        } catch (error) {
          return { status: 500, body: `the review failed: ${String(error)}\n` };
        }
      });
    },
  };
}

/** The line of the log for a denial; `undefined` for an allowance. */
export function describeDenial({ operation, namespace, name, denial }: Reviewed): string | undefined {
  return denial === undefined ? undefined : `denied ${operation} of Ingress ${namespace}/${name}: ${denial}`;
}

function readBody(body: Buffer): ReturnType<typeof readReview> {
  try {
    return readReview(parseJson(body));
  } catch {
    return { fault: { status: 400, reason: 'the body cannot be parsed' } };
  }
}

interface Timed {
  readonly verdict: Verdict;
  readonly checkMs: number;
  readonly buildMs: number;
}

/** `undefined` when the time is up or nobody waits any more. */
async function runInSlices(
  request: ReviewRequest,
  world: AdmissionWorld,
  { arrival, now, signal }: { readonly arrival: number; readonly now: () => number; readonly signal: AbortSignal },
): Promise<Timed | undefined> {
  const steps = reviewIngress(request, world);
  const begin = now();
  let step = steps.next();
  const built = now();
  let sliceStart = begin;
  while (step.done !== true) {
    const time = now();
    if (time - sliceStart >= SLICE_MS) {
      if (signal.aborted || time - arrival > DEADLINE_MS) return undefined;
      await new Promise<void>((resolve) => void setImmediate(resolve));
      sliceStart = now();
    }
    step = steps.next();
  }
  return { verdict: step.value, checkMs: built - begin, buildMs: now() - built };
}

function describeReview(request: ReviewRequest, { verdict, checkMs, buildMs }: Timed, totalMs: number): Reviewed {
  const { denial, warnings, outcome } = verdict;
  const [operation = '', namespace = '', name = ''] = [request.operation, request.namespace, request.name].map((text) =>
    shorten(text, MAX_NAME_LENGTH),
  );
  return {
    operation,
    namespace,
    name,
    ...(denial !== undefined && { denial }),
    warnings,
    ...(outcome && {
      built: {
        ingresses: outcome.ingresses,
        bytes: outcome.bytes,
        checkSeconds: checkMs / 1000,
        buildSeconds: buildMs / 1000,
      },
    }),
    seconds: totalMs / 1000,
  };
}

function unavailable(reason: string): Reply {
  return { status: 503, body: `${reason}\n` };
}
