import { createEmitter } from '../envoy/emit.ts';
import { readDescriptorSet } from '../envoy/schema.ts';
import { createEncoder } from '../envoy/wire-encoder.ts';
import { createXdsServer, type MutualTlsOptions } from '../xds/server.ts';
import { SnapshotStore } from '../xds/store.ts';
import type { CreateDelivery } from './delivery.ts';
import { createInspection } from './inspection.ts';
import { createXdsPublisher } from './xds-publisher.ts';

export interface XdsDeliveryOptions {
  readonly args: { readonly accessLog: boolean; readonly routeSharding: boolean };
  /** Where Envoys connect to, as `XdsServer.listen` takes it. */
  readonly addresses: readonly string[];
  /** Default: false. */
  readonly secretsOverTcp?: boolean;
  readonly mutualTls?: MutualTlsOptions;
}

/** How long streams may finish what is under way when this process ends, in milliseconds. */
const CLOSE_GRACE_MS = 500;

/** To Envoys, over ADS. `start` rejects with XdsAddressError for an address that cannot be had. */
export function xdsDelivery(options: XdsDeliveryOptions): CreateDelivery {
  const { args, addresses, secretsOverTcp = false, mutualTls } = options;
  return ({ engine, model, ipv6, observe }) => {
    const { accessLog, routeSharding } = args;
    const emitter = createEmitter(engine, model, { ipv6, accessLog, routeSharding }, createEncoder());
    const store = new SnapshotStore(observe);
    const server = createXdsServer({
      store,
      observe,
      secretsOverTcp,
      ...(mutualTls && { mutualTls }),
      descriptors: readDescriptorSet,
    });
    return {
      ...createXdsPublisher(emitter, store),
      get seq() {
        return store.seq;
      },
      counters: () => emitter.counters(),
      inspection: createInspection(store, server),
      start: async () => {
        const bound: string[] = [];
        for (const address of addresses) bound.push(await server.listen(address));
        return bound;
      },
      stop: () => server.close({ graceMs: CLOSE_GRACE_MS }),
    };
  };
}
