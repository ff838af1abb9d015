/**
 * The control plane that is measured, in a process of its own: neither the bench nor its requests count. It differs from the real
 * one in its source alone: objects come from memory and, while it runs, from its parent.
 */
import yargs from 'yargs';
import { ingressFlags } from '../../src/cli/flags/ingress-flags.ts';
import { buildOptionsFrom, type IngressArguments } from '../../src/cli/flags.ts';
import { createPipeline, type Pipeline } from '../../src/cli/pipeline.ts';
import type { ObjectChange } from '../../src/cluster/cluster-state.ts';
import { decodeObject } from '../../src/cluster/decode.ts';
import { PrivateKey } from '../../src/model/proxy-model.ts';
import { createXdsServer } from '../../src/xds/server.ts';
import type { Manifest } from '../support/manifests.ts';
import { createCostMeter } from './cost-meter.ts';
import type { BenchReply, BenchRequest, ChangeRequest, StartRequest } from './protocol.ts';
import { worldManifests } from './world.ts';

const bootMs = performance.now();

interface Running {
  readonly pipeline: Pipeline;
  readonly emptyBytes: number;
  /** Applies objects and resolves with what they cost until Envoy had accepted everything. */
  readonly apply: (request: ChangeRequest) => Promise<void>;
}

let running: Running | undefined;

process.on('message', (request: BenchRequest) => void handle(request).catch(fail));
process.on('disconnect', () => process.exit());

async function handle(request: BenchRequest): Promise<void> {
  if (request.kind === 'start') running = await start(request);
  else if (request.kind === 'change') await running?.apply(request);
  else reply({ kind: 'memory', heldBytes: heldBytes() - (running?.emptyBytes ?? 0) });
}

async function start(request: StartRequest): Promise<Running> {
  const { generated, httpPort, httpsPort } = request;
  const flags = [`--http-port=${httpPort}`, `--https-port=${httpsPort}`, ...request.variant.flags];
  const args = (await yargs(flags).options(ingressFlags).parse()) as unknown as IngressArguments;
  const generatedCertificate = { chain: generated.chain, key: new PrivateKey(generated.key) };
  const meter = createCostMeter();
  const pipeline = createPipeline({
    build: { ...buildOptionsFrom(args, 'envoy'), generatedCertificate },
    emit: { ipv6: false, accessLog: args.accessLog, routeSharding: args.routeSharding },
    observe: meter.observe,
    onSettled: meter.settled,
  });
  const { state, controller, store } = pipeline;
  const server = createXdsServer({ store, observe: meter.observe });
  const emptyBytes = heldBytes();
  const startedAt = performance.now();
  state.apply(decode(worldManifests(request.ingresses, request.pairs, request.backendPort)));
  const decodedAt = performance.now();
  await controller.start();
  const builtAt = performance.now();
  await server.listen(`unix:${request.xdsSocket}`);
  const times = { boot: bootMs, decode: decodedAt - startedAt, build: builtAt - decodedAt };
  reply({ kind: 'listening', times });
  // What was spent before belongs to the start, so it counts from the beginning of the process.
  void meter.measure(pipeline, { fromStart: true }).then((cost) => reply({ kind: 'accepted', cost }), fail);
  return {
    pipeline,
    emptyBytes,
    apply: async ({ upsert = [], remove = [] }) => {
      const accepted = meter.measure(pipeline);
      state.apply([...decode(upsert), ...remove.map((ref) => ({ remove: ref }))]);
      // The window in which changes are collected is no part of what a change costs.
      controller.notify(true);
      reply({ kind: 'accepted', cost: await accepted });
    },
  };
}

function decode(manifests: Iterable<Manifest>): ObjectChange[] {
  return [...manifests].flatMap((manifest) => {
    const { objects, problems } = decodeObject(manifest, { defaultNamespace: 'default', keepResourceVersion: false });
    if (problems.length > 0) throw new Error(`invalid ${manifest.kind}: ${JSON.stringify(problems)}`);
    return objects.map((upsert) => ({ upsert }));
  });
}

/** Needs `--expose-gc`. */
function heldBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function reply(message: BenchReply): void {
  process.send?.(message);
}

function fail(error: unknown): void {
  reply({ kind: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
