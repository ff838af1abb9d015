import { setTimeout as delay } from 'node:timers/promises';
import { send } from '../support/http-client.ts';
import type { Pair } from '../support/pki.ts';
import { type ChangeContext, type ChangeKind, changeKinds, makeChange } from './changes.ts';
import { mainThreadCpuMs, residentBytes } from './process-stats.ts';
import { type Plane, startPlane } from './processes.ts';
import type { Cost, StartTimes, Variant } from './protocol.ts';
import { type Summary, summarizeAll } from './statistics.ts';
import { hostOf, nameAt, PATHS } from './world.ts';

export interface MeasureOptions {
  readonly envoyPath: string;
  readonly variant: Variant;
  readonly ingresses: number;
  /** How often each kind of change is made. */
  readonly repeat: number;
  /** How often both processes are started from nothing; the last ones are changed. */
  readonly starts: number;
  readonly pairs: readonly Pair[];
  readonly generated: Pair;
  readonly backends: ChangeContext['backends'];
  readonly profileFolder: string | undefined;
}

/** Times in milliseconds. */
export interface StartCost extends StartTimes, Cost {
  /** From the start of the control plane's process until the last hosts, with and without TLS, answer. */
  readonly servedMs: number;
  /** CPU of Envoy's main thread until then. */
  readonly envoyMs: number;
}

export interface ChangeCost extends Cost {
  /** From handing over the change until Envoy answers by it. */
  readonly seenMs: number;
  /** CPU of Envoy's main thread, which applies configuration. */
  readonly envoyMs: number;
}

export interface SizeResult {
  readonly variant: string;
  readonly ingresses: number;
  readonly start: Readonly<Record<keyof StartCost, Summary>>;
  readonly changes: Readonly<Record<ChangeKind, Readonly<Record<keyof ChangeCost, Summary>>>>;
  readonly memory: {
    readonly controlPlaneResident: number;
    readonly envoyResident: number;
    /** What the control plane holds for each Ingress with its Service, EndpointSlice and share of a certificate. */
    readonly perIngress: number;
  };
}

/** Changes of each kind that do not count: the first ones are interpreted, later ones are compiled. */
const WARM_UP_ROUNDS = 3;

export async function measureSize(options: MeasureOptions): Promise<SizeResult> {
  const starts: StartCost[] = [];
  for (let left = options.starts; ; left--) {
    const plane = await startPlane({ ...options, backendPort: options.backends.a });
    try {
      starts.push(await measureStart(plane, options));
      if (left <= 1) return await measureRunning(plane, starts, options);
    } finally {
      await plane.stop();
    }
  }
}

async function measureStart(plane: Plane, { ingresses }: MeasureOptions): Promise<StartCost> {
  const path = PATHS[0] ?? '/';
  const hosts = [nameAt(ingresses - 1), nameAt(ingresses - 2)].map(hostOf);
  const served = async () => {
    // The last one is plain, the one before has TLS.
    await until(() => isOk(send({ port: plane.httpPort, host: hosts[0] ?? '', path })), 5);
    await until(() => isOk(send({ port: plane.httpsPort, host: hosts[1] ?? '', path, tls: true })), 5);
  };
  const done = served();
  // What Envoy refuses will never be served.
  await Promise.race([done, plane.synchronized.then(() => done)]);
  const servedMs = performance.now() - plane.startedAt;
  const envoyMs = mainThreadCpuMs(plane.envoyPid);
  return { ...plane.times, ...(await plane.synchronized), servedMs, envoyMs };
}

async function measureRunning(
  plane: Plane,
  starts: readonly StartCost[],
  options: MeasureOptions,
): Promise<SizeResult> {
  const { ingresses, backends, repeat, variant } = options;
  const context = { ingresses, backends, httpPort: plane.httpPort, httpsPort: plane.httpsPort };
  const heldBytes = await plane.heldBytes();
  const costs = Object.fromEntries(changeKinds.map((kind): [string, ChangeCost[]] => [kind, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + repeat; round++) {
    for (const kind of changeKinds) {
      const cost = await measureChange(plane, kind, round, context);
      if (round >= WARM_UP_ROUNDS) costs[kind]?.push(cost);
    }
  }
  return {
    variant: variant.name,
    ingresses,
    start: summarizeAll(starts),
    changes: Object.fromEntries(
      changeKinds.map((kind) => [kind, summarizeAll(costs[kind] ?? [])]),
    ) as SizeResult['changes'],
    memory: {
      controlPlaneResident: residentBytes(plane.controlPlanePid),
      envoyResident: residentBytes(plane.envoyPid),
      perIngress: heldBytes / ingresses,
    },
  };
}

async function measureChange(
  plane: Plane,
  kind: ChangeKind,
  round: number,
  context: ChangeContext,
): Promise<ChangeCost> {
  const { request, seen } = await makeChange(kind, round, context);
  if (await seen()) throw new Error(`${kind}: Envoy answers already as it should only after the change`);
  const envoyBefore = mainThreadCpuMs(plane.envoyPid);
  const startedAt = performance.now();
  const accepted = plane.change(request);
  await until(seen, 1);
  const seenMs = performance.now() - startedAt;
  return { ...(await accepted), seenMs, envoyMs: mainThreadCpuMs(plane.envoyPid) - envoyBefore };
}

const DEADLINE_MS = 60_000;

/** Asks again and again, with a pause, so that the clients leave the processors to what is measured. */
async function until(condition: () => Promise<boolean>, pauseMs: number): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Envoy does not answer as it should within ${DEADLINE_MS} ms`);
    await delay(pauseMs);
  }
}

/** While Envoy starts, its ports refuse connections. */
async function isOk(answer: ReturnType<typeof send>): Promise<boolean> {
  return await answer.then(
    ({ status }) => status === 200,
    () => false,
  );
}
