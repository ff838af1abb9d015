import type { Publisher } from '../controller.ts';
import type { Engine } from '../derive.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import type { PublishOutcome } from '../nginx/publish.ts';
import type { XdsEvent } from '../xds/observer.ts';
import type { Inspection } from './inspection.ts';
import type { Logger } from './logger.ts';

export interface DeliveryContext {
  readonly engine: Engine;
  readonly model: ProxyModel;
  readonly ipv6: boolean;
  readonly logger: Logger;
  /** What proxies accept and reject, in the terms of xDS whatever the proxy. */
  readonly observe: (event: XdsEvent) => void;
  /** Told of each configuration that a proxy has loaded, or has not, where the proxy loads such things. */
  readonly reloaded?: (outcome: PublishOutcome) => void;
}

/** How one kind of proxy gets what the build made. */
export interface Delivery extends Publisher {
  /** Number of the last commit. */
  readonly seq: number;
  /** Messages encoded so far, per kind of message. */
  counters(): Readonly<Record<string, number>>;
  readonly inspection?: Inspection;
  /** Called once, after the first commit. Resolves with the addresses at which proxies may connect. */
  start(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export type CreateDelivery = (context: DeliveryContext) => Delivery;
