/** The text of a manifest file to the objects in it, with the place of each. */
import { setImmediate } from 'node:timers/promises';
import { decodeObject, expandLists } from '../cluster/decode.ts';
import type { Problem } from '../cluster/decode-fields.ts';
import type { KubernetesObject } from '../cluster/objects.ts';
import type { ObjectRef } from '../model/object-ref.ts';
import { parseTree, parseValue, splitDocuments } from './documents.ts';
import { convertOldIngress } from './old-ingress.ts';
import { createPositions, offsetOf, type PositionAt, type TextPosition } from './positions.ts';

/** One object of a document. */
export interface ManifestEntry {
  /** Absent when the manifest does not say which object it is. */
  readonly ref?: ObjectRef;
  readonly objects: readonly KubernetesObject[];
  readonly invalid: boolean;
  readonly problems: readonly (Problem & { readonly position: TextPosition })[];
  /** Inside the document: empty, or `items[3]` of a list. */
  readonly path: string;
  readonly position: TextPosition;
}

/** What one document says; positions count from its own start. Plain data: it may come from another thread. */
export interface ParsedDocument {
  readonly text: string;
  readonly entries: readonly ManifestEntry[];
  readonly fault?: { readonly message: string; readonly position: TextPosition };
}

export interface PlacedDocument {
  readonly document: ParsedDocument;
  /** Line of the file on which the document starts, from 0. */
  readonly startLine: number;
}

/** Parses the texts of documents, one after another. */
export type ParseTexts = (texts: readonly string[], namespace: string) => Promise<readonly ParsedDocument[]>;

/** How long parsing may hold the event loop, in milliseconds. */
const SLICE = 10;
/** More problems of one object than this help nobody. */
const MAX_PROBLEMS = 20;
/** Texts longer than this hold up what else this thread does, so they are parsed elsewhere; in UTF-16 units. */
const LARGE = 64 * 1024;

export function isLarge(text: string): boolean {
  return text.length > LARGE;
}

/** Documents whose text stands in `former` are not parsed again. */
export async function parseManifests(
  text: string,
  namespace: string,
  former: readonly PlacedDocument[],
  parseTexts: ParseTexts = parseHere,
): Promise<PlacedDocument[]> {
  const documents = new Map(former.map(({ document }) => [document.text, document]));
  const parts = splitDocuments(text);
  const unknown = new Set(parts.map((part) => part.text).filter((part) => !documents.has(part)));
  for (const document of await parseTexts([...unknown], namespace)) documents.set(document.text, document);
  return parts.map((part) => ({ document: documents.get(part.text)!, startLine: part.startLine }));
}

/** In this thread, with pauses between documents. */
export async function parseHere(texts: readonly string[], namespace: string): Promise<ParsedDocument[]> {
  const documents: ParsedDocument[] = [];
  let sliceStart = performance.now();
  for (const text of texts) {
    documents.push(parseOne(text, namespace));
    if (performance.now() - sliceStart < SLICE) continue;
    await setImmediate();
    sliceStart = performance.now();
  }
  return documents;
}

export function parseOne(text: string, namespace: string): ParsedDocument {
  const parsed = parseValue(text);
  const positionAt = createPositions(text);
  if ('fault' in parsed) {
    const { message, offset } = parsed.fault;
    return { text, entries: [], fault: { message, position: positionAt(offset) } };
  }
  const place = (field: string) => positionAt(offsetOf(parsed.tree, field));
  const entries = expandLists(parsed.value).flatMap(({ value, path }) => readEntry(value, path, namespace, place));
  return { text, entries };
}

function readEntry(
  value: unknown,
  path: string,
  namespace: string,
  place: (field: string) => TextPosition,
): ManifestEntry[] {
  const decoded = decodeObject(value, { defaultNamespace: namespace, keepResourceVersion: false });
  if (decoded.ref === undefined && decoded.problems.length === 0) return [];
  const problems = decoded.problems.slice(0, MAX_PROBLEMS).map((problem) => ({
    ...problem,
    message: problem.code === 'IngressApiVersionOld' ? withNewForm(problem.message, value) : problem.message,
    position: place(joinPaths(path, problem.field)),
  }));
  const { objects, invalid, ref } = decoded;
  return [{ objects, invalid, problems, path, position: place(path), ...(ref !== undefined && { ref }) }];
}

function withNewForm(message: string, manifest: unknown): string {
  return `${message}:\n${convertOldIngress(manifest)}`;
}

/** The field of an object inside of its document. */
export function joinPaths(path: string, field: string): string {
  if (path === '' || field === '') return path + field;
  return field.startsWith('[') ? path + field : `${path}.${field}`;
}

/** Finds fields in a document that was parsed before. */
export function createLocator(text: string): (entry: ManifestEntry, field: string) => TextPosition {
  const tree = parseTree(text);
  const positionAt: PositionAt = createPositions(text);
  return (entry, field) => positionAt(offsetOf(tree, joinPaths(entry.path, field)));
}
