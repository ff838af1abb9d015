import { parseWebhookAddress } from '../admission/address.ts';
import { createReviewer, describeDenial, type Reviewed } from '../admission/reviewer.ts';
import { createAdmissionServer } from '../admission/server.ts';
import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Engine } from '../derive.ts';
import { createEmitter } from '../envoy/emit.ts';
import { createChecker } from '../envoy/encoder.ts';
import type { Build, BuildOptions } from '../ingress/build.ts';
import type { WebhookArguments } from './flags.ts';
import type { Logger } from './logger.ts';

export interface WebhookContext {
  readonly engine: Engine;
  readonly state: ClusterState;
  readonly build: Build;
  readonly buildOptions: BuildOptions;
  readonly ipv6: boolean;
  readonly logger: Logger;
  /** Whether the namespace is watched. */
  readonly watches: (namespace: string) => boolean;
  /** Whether everything has been read and built once. */
  readonly synced: () => boolean;
  readonly onReviewed: (review: Reviewed) => void;
}

export interface Webhook {
  listen(): Promise<unknown>;
  close(): Promise<void>;
}

/** How long reviews that are under way may take when this process ends, in milliseconds. */
const CLOSE_GRACE_MS = 2_000;

/** The webhook that `--validating-webhook` asks for; to be made before the first pass. */
export function createWebhook(args: WebhookArguments, context: WebhookContext): Webhook | undefined {
  const { validatingWebhook, validatingWebhookCertificate, validatingWebhookKey } = args;
  if (
    validatingWebhook === undefined ||
    validatingWebhookCertificate === undefined ||
    validatingWebhookKey === undefined
  ) {
    return undefined;
  }
  const { engine, state, build, buildOptions, ipv6, logger, watches, synced, onReviewed } = context;
  const reviewer = createReviewer({
    engine,
    state,
    build,
    options: buildOptions,
    watches,
    synced,
    emit: (engine, model) => createEmitter(engine, model, { ipv6 }, createChecker()),
    onReviewed: (review) => {
      const denial = describeDenial(review);
      if (denial !== undefined) logger.info(denial);
      onReviewed(review);
    },
  });
  const { host = ipv6 ? '::' : '0.0.0.0', port } = parseWebhookAddress(validatingWebhook);
  const server = createAdmissionServer({
    host,
    port,
    certificatePath: validatingWebhookCertificate,
    keyPath: validatingWebhookKey,
    review: (body, signal) => reviewer.review(body, signal),
    onLog: (level, message) => logger[level](message),
  });
  return { listen: () => server.listen(), close: () => server.close({ graceMs: CLOSE_GRACE_MS }) };
}
