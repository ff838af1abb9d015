import type { Messages } from '../gen/messages.ts';
import type { MessageName } from './codec.ts';
import { findViolations } from './schema-rules.ts';

/** Encodes messages after checking them against Envoy's own rules, and counts what it encoded. */
export interface Encoder {
  /** @throws Error that names the resource and every broken rule. */
  encode<N extends MessageName>(name: N, message: Messages[N], resource: string): Uint8Array;
  /** For what is put together from parts, or was checked before: neither checks nor counts. */
  readonly encodePart: EncodePart;
  /** As `encodeField` of the codec. */
  readonly encodeField: EncodeField;
  /** It only checks: what says nothing that other messages do not say need not be made. */
  readonly checksOnly?: true;
  /** Counts an encoding of `message`; for what is put together from encoded parts. */
  count(message: string): void;
  /** How often a message of each kind was encoded, by its short name: `VirtualHost`. */
  counters(): Readonly<Record<string, number>>;
}

type EncodePart = <N extends MessageName>(name: N, message: Messages[N]) => Uint8Array;

type EncodeField = <N extends MessageName>(
  name: N,
  field: keyof Messages[N] & string,
  ...parts: readonly Uint8Array[]
) => Uint8Array;

/** Finds what Envoy would refuse, and makes no bytes: for resources that nobody gets. The rules of hosts are compiled at once. */
export function createChecker(): Encoder {
  findViolations('envoy.config.route.v3.VirtualHost', {});
  const nothing = () => NOTHING;
  return { ...createCheckedEncoder({ encodePart: nothing, encodeField: nothing }), checksOnly: true };
}

const NOTHING = new Uint8Array();

export function createCheckedEncoder(codec: Pick<Encoder, 'encodePart' | 'encodeField'>): Encoder {
  const counts = new Map<string, number>();
  const count = (message: string) => void counts.set(message, (counts.get(message) ?? 0) + 1);
  return {
    ...codec,
    encode(name, message, resource) {
      const violations = findViolations(name, message);
      if (violations.length > 0) {
        const list = violations.map(({ path, rule }) => `${path}: ${rule}`).join('; ');
        throw new Error(`${shortName(name)} ${resource} would be refused by Envoy: ${list}`);
      }
      count(shortName(name));
      return codec.encodePart(name, message);
    },
    count,
    counters: () => Object.fromEntries(counts),
  };
}

function shortName(message: MessageName): string {
  return message.slice(message.lastIndexOf('.') + 1);
}
