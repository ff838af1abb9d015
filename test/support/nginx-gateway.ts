import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { hasIpv6 } from '../../src/cli/ipv6.ts';
import { createLoop } from '../../src/cli/loop.ts';
import { type NginxDelivery, type NginxDeliveryOptions, nginxDelivery } from '../../src/cli/nginx-delivery.ts';
import { nginxArguments } from '../../src/cli/nginx-proxy.ts';
import { createStapling, type Stapling } from '../../src/cli/stapling.ts';
import type { ObjectChange } from '../../src/cluster/cluster-state.ts';
import type { Controller } from '../../src/controller.ts';
import type { BuildOptions } from '../../src/ingress/build.ts';
import { defaultOptions } from '../../src/ingress/testing.ts';
import { findNginx } from '../../src/nginx/binary.ts';
import type { PublishOutcome } from '../../src/nginx/publish.ts';
import { builtInTemplate } from '../../src/nginx/template-files.ts';
import { createAsk } from '../../src/ocsp/ask.ts';
import { changesOf, type Gateway, poll } from './gateway.ts';
import type { Manifest } from './manifests.ts';
import { makePair } from './pki.ts';
import { freePorts } from './static-envoy.ts';

export interface NginxGatewayOptions {
  readonly manifests?: readonly Manifest[];
  readonly build?: Partial<BuildOptions>;
  /** Whether the Lua module is used; default: true. */
  readonly lua?: boolean;
  readonly delivery?: Partial<NginxDeliveryOptions>;
}

/** The whole of NGINX mode in this process, and a real nginx that it drives. */
export interface NginxGateway
  extends Pick<Gateway, 'httpPort' | 'httpsPort' | 'log' | 'apply' | 'remove' | 'settled' | 'close'> {
  readonly controller: Controller;
  /** What became of each configuration so far. */
  readonly outcomes: readonly PublishOutcome[];
  readonly delivery: NginxDelivery;
  /** Where nginx has its files. */
  readonly folder: string;
  /** Process number of the master. */
  readonly pid: number;
  /** Puts changes into the state without waiting. */
  change(changes: readonly ObjectChange[]): void;
}

export async function startNginxGateway(options: NginxGatewayOptions = {}): Promise<NginxGateway> {
  const { manifests = [], lua = true } = options;
  const [httpPort = 0, httpsPort = 0] = await freePorts(2);
  const folder = await mkdtemp(join(tmpdir(), 'nginx-gateway-'));
  const nginxFolder = join(folder, 'nginx');
  await mkdir(nginxFolder);
  const nginx = await findNginx();
  const outcomes: PublishOutcome[] = [];
  const problems: string[] = [];
  let passes = 0;
  let programmedSeq = 0;
  const delivery = nginxDelivery({
    nginx: { ...nginx, hasLua: lua && nginx.hasLua },
    folder: nginxFolder,
    template: builtInTemplate,
    workerProcesses: 1,
    retries: 10,
    minIntervalMs: 0,
    onOutcome: (outcome) => outcomes.push(outcome),
    ...options.delivery,
  });
  const ipv6 = await hasIpv6();
  let stapling: Stapling | undefined;
  const { state, controller, publisher, build } = createLoop({
    build: {
      ...defaultOptions(await makePair(['ingress.local'])),
      proxy: 'nginx',
      httpPort,
      httpsPort,
      ...options.build,
    },
    publisher: (engine, model) =>
      delivery.create({
        engine,
        model,
        ipv6,
        logger: pino({ level: 'warn' }, { write: (line: string) => problems.push(line) }),
        observe: (event) => {
          if (event.kind === 'programmed') programmedSeq = event.seq;
        },
      }),
    onSettled: ({ pass }) => {
      passes += 1;
      stapling?.settled(pass);
    },
  });
  stapling = createStapling({
    state,
    model: build.model,
    onChange: () => controller.notify(false),
    ask: createAsk({ isAllowed: () => true }),
  });
  state.apply(changesOf(manifests));
  await controller.start();
  await publisher.start();
  const process = startNginx(nginx.path, nginxFolder);
  const log = () => `${process.log()}${problems.join('')}${JSON.stringify(outcomes)}`;
  await poll(
    async () => (await Promise.all([httpPort, httpsPort].map(isOpen))).every(Boolean),
    () => `the ports of nginx did not open:\n${log()}`,
  );
  await delivery.proxyStarted();

  let requested = 0;
  const settled = () =>
    poll(
      () => passes > requested && programmedSeq >= publisher.seq,
      () => `nginx has not taken everything:\n${log()}`,
    );
  const change = (changes: readonly ObjectChange[]) => {
    requested = passes;
    state.apply(changes);
    controller.notify(true);
  };
  const changed = async (changes: readonly ObjectChange[]) => {
    change(changes);
    await settled();
  };
  await settled();
  return {
    httpPort,
    httpsPort,
    controller,
    outcomes,
    delivery,
    folder: nginxFolder,
    pid: process.pid,
    log,
    settled,
    change,
    apply: (...manifests) => changed(changesOf(manifests)),
    remove: (kind, name, namespace = 'default') => changed([{ remove: { kind, name, namespace } }]),
    close: async () => {
      stapling?.stop();
      controller.stop();
      await publisher.stop();
      await process.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function startNginx(path: string, folder: string) {
  // A process group of its own: workers outlive a master that is killed.
  const child = spawn(path, nginxArguments(folder), { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  return { pid: child.pid ?? 0, log: () => log, stop: () => endGroup(child) };
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await exited;
}

function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: '127.0.0.1' }, () => resolve(true));
  socket.on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
