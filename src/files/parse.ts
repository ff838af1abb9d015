/** The text of a manifest file to the objects in it, with the place of each. */
import { setImmediate } from 'node:timers/promises';
import { decodeObject, expandLists } from '../cluster/decode.ts';
import type { Problem } from '../cluster/decode-fields.ts';
import type { KubernetesObject } from '../cluster/objects.ts';
import type { ObjectRef } from '../model/object-ref.ts';
import { type DocumentText, type ParsedTree, parseValue, splitDocuments } from './documents.ts';
import { convertOldIngress } from './old-ingress.ts';
import { offsetOf, positionAt, type TextPosition } from './positions.ts';

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

/** What one document says; positions count from its own start. */
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

/** How long parsing may hold the event loop, in milliseconds. */
const SLICE = 10;
/** More problems of one object than this help nobody. */
const MAX_PROBLEMS = 20;

/** Documents whose text stands in `former` are not parsed again. */
export async function parseManifests(
  text: string,
  namespace: string,
  former: readonly PlacedDocument[],
): Promise<PlacedDocument[]> {
  const known = new Map(former.map(({ document }) => [document.text, document]));
  const documents: PlacedDocument[] = [];
  let sliceStart = performance.now();
  for (const { text: part, startLine } of splitDocuments(text)) {
    documents.push({ document: known.get(part) ?? parseOne(part, namespace), startLine });
    if (performance.now() - sliceStart < SLICE) continue;
    await setImmediate();
    sliceStart = performance.now();
  }
  return documents;
}

function parseOne(text: DocumentText['text'], namespace: string): ParsedDocument {
  const parsed = parseValue(text);
  if ('fault' in parsed) {
    const { message, offset } = parsed.fault;
    return { text, entries: [], fault: { message, position: positionAt(text, offset) } };
  }
  const place = (field: string) => positionAt(text, offsetOf(parsed.tree, field));
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

/** The place of a field in a document that was parsed before. */
export function locateInTree(tree: ParsedTree, text: string, entry: ManifestEntry, field: string): TextPosition {
  return positionAt(text, offsetOf(tree, joinPaths(entry.path, field)));
}
