import type { Messages } from '../gen/messages.ts';
import { encode, type MessageName } from './codec.ts';
import { findViolations } from './schema-rules.ts';

/** Encodes messages after checking them against Envoy's own rules, and counts what it encoded. */
export interface Encoder {
  /** @throws Error that names the resource and every broken rule. */
  encode<N extends MessageName>(name: N, message: Messages[N], resource: string): Uint8Array;
  /** For what is put together from parts, or was checked before: neither checks nor counts. */
  encodePart<N extends MessageName>(name: N, message: Messages[N]): Uint8Array;
  /** Counts an encoding of `message`; for what is put together from encoded parts. */
  count(message: string): void;
  /** How often a message of each kind was encoded, by its short name: `VirtualHost`. */
  counters(): Readonly<Record<string, number>>;
}

export function createEncoder(): Encoder {
  return createCheckedEncoder(encode);
}

/** Finds what Envoy would refuse, and makes no bytes: for resources that nobody gets. The rules of hosts are compiled at once. */
export function createChecker(): Encoder {
  findViolations('envoy.config.route.v3.VirtualHost', {});
  return createCheckedEncoder(() => NOTHING);
}

const NOTHING = new Uint8Array();

function createCheckedEncoder(encodePart: Encoder['encodePart']): Encoder {
  const counts = new Map<string, number>();
  const count = (message: string) => void counts.set(message, (counts.get(message) ?? 0) + 1);
  return {
    encode(name, message, resource) {
      const violations = findViolations(name, message);
      if (violations.length > 0) {
        const list = violations.map(({ path, rule }) => `${path}: ${rule}`).join('; ');
        throw new Error(`${shortName(name)} ${resource} would be refused by Envoy: ${list}`);
      }
      count(shortName(name));
      return encodePart(name, message);
    },
    encodePart,
    count,
    counters: () => Object.fromEntries(counts),
  };
}

function shortName(message: MessageName): string {
  return message.slice(message.lastIndexOf('.') + 1);
}
