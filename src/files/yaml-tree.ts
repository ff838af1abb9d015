/** The syntax tree of a YAML document, for positions: offsets count from the start of its text. */
import { EVENT_ID, type Event, getScalarValue, SCALAR_STYLE, type ScalarEvent } from 'js-yaml';

export type YamlNode =
  | { readonly kind: 'map'; readonly offset: number; readonly pairs: readonly YamlPair[] }
  | { readonly kind: 'list'; readonly offset: number; readonly items: readonly YamlNode[] }
  /** `offset` is absent where nothing is written, and for text in blocks, which begins after the line of its key. */
  | { readonly kind: 'scalar'; readonly offset?: number }
  | { readonly kind: 'alias'; readonly offset: number; readonly target: YamlNode | undefined };

export interface YamlPair {
  /** Absent where the key is a map or a list. */
  readonly key?: string;
  readonly keyOffset: number;
  readonly value: YamlNode;
}

/** @param events of one document; absent: there is none. */
export function treeOf(text: string, events: readonly Event[]): YamlNode | undefined {
  const anchors = new Map<string, YamlNode>();
  // Behind the event of the document itself.
  let at = 1;

  function remember(event: Event, node: YamlNode): YamlNode {
    if ('anchorStart' in event && event.anchorStart >= 0) {
      anchors.set(text.slice(event.anchorStart, event.anchorEnd), node);
    }
    return node;
  }

  function read(): YamlNode {
    const event = events[at++]!;
    switch (event.type) {
      case EVENT_ID.MAPPING: {
        const pairs: YamlPair[] = [];
        const node = remember(event, { kind: 'map', offset: event.start, pairs });
        while (!atEnd()) pairs.push(readPair());
        at++;
        return node;
      }
      case EVENT_ID.SEQUENCE: {
        const items: YamlNode[] = [];
        const node = remember(event, { kind: 'list', offset: event.start, items });
        while (!atEnd()) items.push(read());
        at++;
        return node;
      }
      case EVENT_ID.ALIAS: {
        const target = anchors.get(text.slice(event.anchorStart, event.anchorEnd));
        return { kind: 'alias', offset: event.anchorStart - 1, target };
      }
      case EVENT_ID.SCALAR: {
        const offset = scalarOffset(event);
        return remember(event, { kind: 'scalar', ...(offset !== undefined && { offset }) });
      }
      default:
        throw new Error(`a document holds an event of type ${event.type}`);
    }
  }

  function readPair(): YamlPair {
    const event = events[at]!;
    const key = event.type === EVENT_ID.SCALAR ? getScalarValue(text, event) : undefined;
    const { offset = 0 } = read();
    return { ...(key !== undefined && { key }), keyOffset: offset, value: read() };
  }

  function atEnd(): boolean {
    return events[at]!.type === EVENT_ID.POP;
  }

  return events.length <= 1 || atEnd() ? undefined : read();
}

function scalarOffset({ style, valueStart }: ScalarEvent): number | undefined {
  if (valueStart < 0 || style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK) return undefined;
  // The value begins after the quote.
  return style === SCALAR_STYLE.PLAIN ? valueStart : valueStart - 1;
}
