import type { ObjectChange } from '../cluster/cluster-state.ts';
import { decodedOwner } from '../cluster/decode.ts';
import type { KubernetesObject } from '../cluster/objects.ts';
import { deepEqual } from '../derive.ts';
import type { Diagnostic, SourcePosition } from '../model/diagnostic.ts';
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import { createLocator, isLarge, type ManifestEntry, type PlacedDocument } from './parse.ts';

/** What changed, and everything that is wrong at present. */
export interface FilesBatch {
  readonly changes: readonly ObjectChange[];
  readonly diagnostics: readonly Diagnostic[];
}

/** `folder` is the index in the list of folders: of the same object in two places the earlier folder, then path, counts. */
export interface ManifestFile {
  readonly path: string;
  readonly folder: number;
}

/** An object of a kind, over all files: `Ingress shop/web`. */
type RefKey = string;

/** One place that defines an object. */
interface Claim {
  readonly file: ManifestFile;
  /** Order within the file. */
  readonly index: number;
  readonly ref: ObjectRef;
  /** The last good version when the present one is invalid. */
  readonly objects: readonly KubernetesObject[];
  readonly entry: ManifestEntry;
  readonly placed: PlacedDocument;
}

interface FileState {
  readonly documents: readonly PlacedDocument[];
  readonly claims: ReadonlyMap<RefKey, readonly Claim[]>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Which files define which objects, which of them count, and what to tell about the rest. Does no I/O. */
export class ManifestStore {
  private readonly files = new Map<string, FileState>();
  private readonly claims = new Map<RefKey, readonly Claim[]>();
  private readonly shown = new Map<RefKey, readonly KubernetesObject[]>();
  private readonly duplicates = new Map<RefKey, readonly Diagnostic[]>();
  private readonly touched = new Set<RefKey>();
  private folderDiagnostics: readonly Diagnostic[] = [];
  private lastDiagnostics: readonly Diagnostic[] = [];
  private parsedLast: { readonly text: string; readonly locate: ReturnType<typeof createLocator> } | undefined;

  /** The documents of a file as last accepted, so that unchanged ones need not be parsed again. */
  documents(path: string): readonly PlacedDocument[] {
    return this.files.get(path)?.documents ?? [];
  }

  has(path: string): boolean {
    return this.files.has(path);
  }

  /** The present content of a file. With a fault anywhere the file keeps what it had. */
  set(file: ManifestFile, documents: readonly PlacedDocument[]): void {
    const faulty = documents.find(({ document }) => document.fault !== undefined);
    if (faulty?.document.fault !== undefined) {
      const { message, position } = faulty.document.fault;
      this.fail(file, { code: 'FileInvalid', message, source: sourceOf(file, faulty, position) });
      return;
    }
    const former = this.files.get(file.path)?.claims;
    const claims = readClaims(file, documents, former);
    this.files.set(file.path, { documents, claims, diagnostics: readProblems(file, documents) });
    this.replaceClaims(file, former, claims);
  }

  /** The file cannot be read or parsed: it keeps what it had. */
  fail(file: ManifestFile, fault: Pick<Diagnostic, 'code' | 'message' | 'source'>): void {
    const former = this.files.get(file.path) ?? { documents: [], claims: new Map<RefKey, readonly Claim[]>() };
    const kept = former.claims.size > 0 ? '; its last good objects stay' : '';
    const message = `${fault.message}${kept}`;
    this.files.set(file.path, { ...former, diagnostics: [{ severity: 'error', ...fault, message }] });
  }

  remove(file: ManifestFile): void {
    const former = this.files.get(file.path)?.claims;
    this.files.delete(file.path);
    this.replaceClaims(file, former, new Map());
  }

  /** Whether objects would go that no other file defines, if `documents` were the content of the file now. */
  wouldLose(path: string, documents: readonly PlacedDocument[]): boolean {
    const former = this.files.get(path)?.claims;
    if (former === undefined || documents.some(({ document }) => document.fault !== undefined)) return false;
    const kept = new Set<RefKey>();
    for (const { ref } of entriesOf(documents)) if (ref !== undefined) kept.add(describeRef(ref));
    return [...former.keys()].some(
      (key) => !kept.has(key) && !this.claims.get(key)?.some((claim) => claim.file.path !== path),
    );
  }

  /** What is about whole folders. */
  setFolderDiagnostics(diagnostics: readonly Diagnostic[]): void {
    this.folderDiagnostics = diagnostics;
  }

  /** What changed since the last call; `undefined` if nothing did. */
  take(): FilesBatch | undefined {
    const changes = [...this.touched].flatMap((key) => this.settle(key));
    this.touched.clear();
    const diagnostics = [
      ...this.folderDiagnostics,
      ...[...this.files.values()].flatMap((file) => file.diagnostics),
      ...[...this.duplicates.values()].flat(),
    ].sort(byPosition);
    const told = !deepEqual(diagnostics, this.lastDiagnostics);
    if (changes.length === 0 && !told) return undefined;
    if (told) this.lastDiagnostics = diagnostics;
    // The same list while nothing about it changes: whoever compares them sees it at once.
    return { changes, diagnostics: this.lastDiagnostics };
  }

  /** Where an object, or a field of it, stands in the files as they are now. In a large document fields stand where their object does. */
  locate(ref: ObjectRef, field = ''): SourcePosition | undefined {
    const claim = this.claims.get(describeRef(ref))?.[0] ?? this.claims.get(describeRef(decodedOwner(ref)))?.[0];
    if (claim === undefined) return undefined;
    const { document } = claim.placed;
    if (field === '' || isLarge(document.text)) return sourceOf(claim.file, claim.placed, claim.entry.position);
    if (this.parsedLast?.text !== document.text) {
      this.parsedLast = { text: document.text, locate: createLocator(document.text) };
    }
    return sourceOf(claim.file, claim.placed, this.parsedLast.locate(claim.entry, field));
  }

  private replaceClaims(
    file: ManifestFile,
    former: FileState['claims'] | undefined,
    claims: FileState['claims'],
  ): void {
    for (const key of new Set([...(former?.keys() ?? []), ...claims.keys()])) {
      const others = (this.claims.get(key) ?? []).filter((claim) => claim.file.path !== file.path);
      const all = [...others, ...(claims.get(key) ?? [])].sort(byPlace);
      if (all.length > 0) this.claims.set(key, all);
      else this.claims.delete(key);
      this.touched.add(key);
    }
  }

  /** Brings what is shown of one object in line with the first claim. */
  private settle(key: RefKey): ObjectChange[] {
    const [winner, ...losers] = this.claims.get(key) ?? [];
    if (winner !== undefined && losers.length > 0) {
      this.duplicates.set(
        key,
        losers.map((loser) => duplicateDiagnostic(winner, loser)),
      );
    } else this.duplicates.delete(key);
    const before = this.shown.get(key) ?? [];
    const now = winner?.objects ?? [];
    if (winner === undefined) this.shown.delete(key);
    else this.shown.set(key, now);
    return before === now ? [] : objectChanges(before, now);
  }
}

function objectChanges(before: readonly KubernetesObject[], now: readonly KubernetesObject[]): ObjectChange[] {
  const names = new Set(now.map(({ name }) => name));
  const removed = before.filter(({ name }) => !names.has(name));
  const changed = now.filter((object) => !before.some((former) => deepEqual(former, object)));
  return [
    ...removed.map(({ kind, namespace, name }) => ({ remove: { kind, namespace, name } })),
    ...changed.map((upsert) => ({ upsert })),
  ];
}

function readClaims(
  file: ManifestFile,
  documents: readonly PlacedDocument[],
  former: FileState['claims'] | undefined,
): FileState['claims'] {
  const claims = new Map<RefKey, Claim[]>();
  let index = 0;
  for (const { placed, ref, ...entry } of entriesOf(documents)) {
    if (ref === undefined) continue;
    const key = describeRef(ref);
    // An object that was never good claims nothing, so that a good one elsewhere counts.
    const objects = entry.invalid ? former?.get(key)?.[0]?.objects : entry.objects;
    if (objects === undefined) continue;
    const claim = { file, index: index++, ref, objects, entry, placed };
    const sameRef = claims.get(key);
    if (sameRef === undefined) claims.set(key, [claim]);
    else sameRef.push(claim);
  }
  return claims;
}

function* entriesOf(
  documents: readonly PlacedDocument[],
): Iterable<ManifestEntry & { readonly placed: PlacedDocument }> {
  for (const placed of documents) for (const entry of placed.document.entries) yield { ...entry, placed };
}

function readProblems(file: ManifestFile, documents: readonly PlacedDocument[]): Diagnostic[] {
  return documents.flatMap((placed) =>
    placed.document.entries.flatMap(({ problems, ref }) =>
      problems.map(({ position, field, ...problem }) => ({
        ...problem,
        ...(field !== '' && { field }),
        ...(ref !== undefined && { ref }),
        source: sourceOf(file, placed, position),
      })),
    ),
  );
}

function duplicateDiagnostic(winner: Claim, loser: Claim): Diagnostic {
  const first = sourceOf(winner.file, winner.placed, winner.entry.position);
  return {
    severity: 'warning',
    code: 'ObjectDuplicate',
    message: `${describeRef(loser.ref)} stands in ${first.file}:${first.line} already; that one counts`,
    ref: loser.ref,
    source: sourceOf(loser.file, loser.placed, loser.entry.position),
  };
}

function sourceOf(
  file: ManifestFile,
  placed: PlacedDocument,
  position: { readonly line: number; readonly column: number },
): SourcePosition {
  return { file: file.path, line: placed.startLine + position.line + 1, column: position.column + 1 };
}

/** By folder, then path in code units. */
export function compareFiles(a: ManifestFile, b: ManifestFile): number {
  return a.folder - b.folder || (a.path < b.path ? -1 : Number(a.path > b.path));
}

function byPlace(a: Claim, b: Claim): number {
  return compareFiles(a.file, b.file) || a.index - b.index;
}

function byPosition(a: Diagnostic, b: Diagnostic): number {
  const [one, two] = [a.source, b.source];
  if (one === undefined || two === undefined) return Number(two !== undefined) - Number(one !== undefined);
  if (one.file !== two.file) return one.file < two.file ? -1 : 1;
  return one.line - two.line || one.column - two.column;
}
