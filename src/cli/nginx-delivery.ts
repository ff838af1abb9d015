import { existsSync, readFileSync } from 'node:fs';
import { isIP, isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { NginxBinary } from '../nginx/binary.ts';
import { configurationSocket, createRunTimeUpdater } from '../nginx/dynamic.ts';
import { createNginxEmitter } from '../nginx/emit.ts';
import { createNginxMaster } from '../nginx/master.ts';
import { createNginxPublisher, type NginxPublisher, type PublishOutcome } from '../nginx/publish.ts';
import type { Template } from '../nginx/template.ts';
import { systemClock } from '../xds/clock.ts';
import type { CreateDelivery } from './delivery.ts';
import { createNginxPublication } from './nginx-publisher.ts';

export interface NginxDeliveryOptions {
  readonly nginx: NginxBinary;
  /** Where nginx of this process tree has its files. */
  readonly folder: string;
  /** The template in force. @throws TemplateError */
  readonly template: () => Template;
  /** File to which a line is written for each request; absent: no log. */
  readonly accessLog?: string;
  readonly workerProcesses?: number;
  readonly maxOpenFiles?: number;
  /** DNS servers, as `NginxEmitOptions` says. Default: those of this machine. */
  readonly resolvers?: readonly string[];
  /** `--dynamic-configuration-retries` */
  readonly retries: number;
  /** Shortest time between two reloads. */
  readonly minIntervalMs: number;
  /** How long nginx may take to start, or to load a configuration. Default: 10 s. */
  readonly reloadTimeoutMs?: number;
  readonly onOutcome: (outcome: PublishOutcome) => void;
}

export interface NginxDelivery {
  readonly create: CreateDelivery;
  /** A master begins its life: it gets everything that is changed at run time. Resolves when it has it. */
  proxyStarted(): Promise<void>;
  /** Another template is in force. */
  refresh(): void;
}

/** The one proxy of a process tree, in the terms of xDS. */
const STREAM = 1;

/** To nginx: files and reloads, and run-time changes where it can run Lua. */
export function nginxDelivery(options: NginxDeliveryOptions): NginxDelivery {
  const { nginx, folder, onOutcome } = options;
  let proxyStarted = async () => {};
  let publisher: NginxPublisher | undefined;
  const create: CreateDelivery = ({ engine, model, ipv6, logger, observe, reloaded }) => {
    const emitter = createNginxEmitter(engine, model, {
      ipv6,
      dynamic: nginx.hasLua,
      nginx,
      luaFolder: luaFolder(),
      folder,
      resolvers: options.resolvers ?? systemResolvers(),
      ...(options.accessLog !== undefined && { accessLog: options.accessLog }),
      ...(options.workerProcesses !== undefined && { workerProcesses: options.workerProcesses }),
      ...(options.maxOpenFiles !== undefined && { maxOpenFiles: options.maxOpenFiles }),
    });
    const master = createNginxMaster({
      nginxPath: nginx.path,
      folder,
      ...(options.reloadTimeoutMs !== undefined && { reloadTimeoutMs: options.reloadTimeoutMs }),
    });
    const firstLoad = Promise.withResolvers<void>();
    /** Of commits. */
    let seq = 0;
    const programmed = () => {
      if (hasStarted && publication.settled) observe({ kind: 'programmed', stream: STREAM, seq });
    };
    /** Masters so far. */
    let starts = 0;
    let stopped = false;
    /** Whether a master has ever got what is changed at run time. */
    let hasStarted = false;
    const files = createNginxPublisher({
      folder,
      template: options.template,
      check: master.check,
      reload: master.reload,
      clock: systemClock,
      minIntervalMs: options.minIntervalMs,
      onOutcome: (outcome, target) => {
        onOutcome(outcome);
        reloaded?.(outcome);
        if (outcome.kind === 'failed') return;
        publication.loaded(target);
        firstLoad.resolve();
        programmed();
      },
    });
    publisher = files;
    const updater = nginx.hasLua
      ? createRunTimeUpdater({
          socketPath: configurationSocket(folder),
          state: () => publication.state(),
          retries: options.retries,
          delay: (ms) => delay(ms, undefined, { ref: false }),
          onFailure: (reason) => logger.error(`nginx does not take changes at run time: ${reason}`),
          isRunning: async () => (await master.pid()) !== undefined,
          onSynced: programmed,
        })
      : undefined;
    const publication = createNginxPublication(emitter, { folder, publisher: files, ...(updater && { updater }) });
    const masterRuns = async () => {
      const start = ++starts;
      master.expect();
      while (start === starts && !stopped) {
        const reason = await master.running().then(
          () => undefined,
          (error: Error) => error.message,
        );
        if (reason === undefined) return;
        if (start === starts && !stopped) logger.warn(reason);
      }
    };
    proxyStarted = async () => {
      await masterRuns();
      await updater?.resend();
      if (!hasStarted)
        observe({ kind: 'identified', stream: STREAM, node: { id: 'nginx', cluster: '', userAgent: 'nginx' } });
      hasStarted = true;
      programmed();
    };
    return {
      diagnosticTables: publication.diagnosticTables,
      *publish(pass) {
        const changed = publication.publish(pass);
        yield;
        if (!changed) return undefined;
        seq++;
        queueMicrotask(programmed);
        return { seq, types: new Map() };
      },
      get seq() {
        return seq;
      },
      counters: () => ({}),
      start: async () => {
        await firstLoad.promise;
        return [folder];
      },
      stop: async () => {
        stopped = true;
        updater?.stop();
        await files.stop();
      },
    };
  };
  return { create, proxyStarted: () => proxyStarted(), refresh: () => void publisher?.refresh() };
}

/** The Lua files lie beside the modules of nginx mode, as source and as built. */
function luaFolder(): string {
  return fileURLToPath(new URL('../nginx/lua', import.meta.url));
}

/** The DNS servers of this machine: nginx does not read them by itself. */
function systemResolvers(): readonly string[] {
  const file = '/etc/resolv.conf';
  if (!existsSync(file)) return [];
  return [...readFileSync(file, 'utf8').matchAll(/^\s*nameserver\s+(\S+)/gm)].flatMap(([, address = '']) => {
    // nginx takes no address with a zone.
    if (isIP(address) === 0 || address.includes('%')) return [];
    return [isIPv6(address) ? `[${address}]` : address];
  });
}
