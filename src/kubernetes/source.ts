/**
 * The objects of an API server: everything once, when all kinds have been read, then every change. What the API server does
 * meanwhile (restart, hang, forget old versions) is between it and the reflectors: the state is kept.
 */
import type { ObjectChange } from '../cluster/cluster-state.ts';
import type { Ingress, KubernetesObject, ObjectKind } from '../cluster/objects.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { DiagnosticChange } from '../model/diagnostic-change.ts';
import { type ObjectRef, objectRef } from '../model/object-ref.ts';
import type { KubernetesClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { KubernetesConfigError } from './errors.ts';
import { IngressGate } from './ingress-gate.ts';
import { collectionPath, describeKind, type WatchedKind } from './kinds.ts';
import { NameReader } from './name-reader.ts';
import { ObjectStore } from './object-store.ts';
import { Reflector, type ReflectorEvent, type ReflectorSink } from './reflector.ts';
import { Scope } from './scope.ts';
import { SourceDiagnostics } from './source-diagnostics.ts';
import { Wanted } from './wanted.ts';

export interface KubernetesSourceOptions {
  readonly client: KubernetesClient;
  /** Every request is for this namespace only, so that a Role suffices. */
  readonly namespace?: string;
  /** A label selector: only the objects of namespaces that match are read, and those that come to match or cease to. */
  readonly namespaceSelector?: string;
  /** ConfigMaps, Secrets and Services (with their EndpointSlices) that flags name: read wherever they are. */
  readonly named: readonly ObjectRef[];
  /** Secrets and ConfigMaps that an Ingress refers to. */
  referencesOf(ingress: Ingress): readonly ObjectRef[];
  /** The first batch holds everything; later ones what changed. Must not throw. */
  onChanges(changes: readonly ObjectChange[]): void;
  onDiagnostics(change: DiagnosticChange): void;
  /** For metrics and tests. Called synchronously; must not throw. */
  observe?(event: SourceEvent): void;
  readonly clock?: Clock;
  /** After how many milliseconds without a byte a watch counts as broken. Bookmarks come each minute; default 90,000. */
  readonly idleMs?: number;
  /** How long one answer to a list may take, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
}

/** What happens between this source and the API server. */
export type SourceEvent =
  | (ReflectorEvent & { readonly kind: WatchedKind; readonly namespace?: string; readonly name?: string })
  /** One object whose bytes were not held is read by name. */
  | { readonly type: 'read'; readonly ref: ObjectRef };

export interface KubernetesSource {
  /** Resolves when all kinds have been read and handed over; for as long as that is not possible it goes on trying. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Whether the objects of this namespace are served, as far as is known. */
  watches(namespace: string): boolean;
  /** Those about the API server and about the shape of objects that are in force. */
  diagnostics(): readonly Diagnostic[];
}

const IDLE_MS = 90_000;
const TIMEOUT_MS = 30_000;
/** They are listed when it is known which of them are wanted. */
const BY_REFERENCE: ReadonlySet<string> = new Set(['Secret', 'ConfigMap']);
const AT_ONCE: readonly ObjectKind[] = ['Ingress', 'IngressClass', 'Service', 'EndpointSlice'];
/** Without permission for these everything else is served all the same. */
const OPTIONAL: ReadonlySet<WatchedKind> = new Set(['IngressClass']);
/** Of what flags name, among the owners of references. */
const FLAGS = 'flags';

interface Feed {
  readonly kind: WatchedKind;
  readonly namespace?: string;
  /** Only this object. */
  readonly name?: string;
  /** Only the EndpointSlices of this Service. */
  readonly service?: string;
}

/** @throws KubernetesConfigError when both `namespace` and `namespaceSelector` are given. */
export function createKubernetesSource(options: KubernetesSourceOptions): KubernetesSource {
  const {
    client,
    namespace,
    namespaceSelector,
    named,
    onChanges,
    observe,
    clock = systemClock,
    idleMs = IDLE_MS,
    timeoutMs = TIMEOUT_MS,
  } = options;
  if (namespace !== undefined && namespaceSelector !== undefined) {
    throw new KubernetesConfigError('--watch-namespace and --watch-namespace-selector exclude each other');
  }
  const ready = Promise.withResolvers<void>();
  const reflectors: Reflector[] = [];
  /** Feeds that have not been read yet, and the kinds that must be read before references are known. */
  const unread = new Set<Feed>();
  const stores: { readonly feed: Feed; readonly store: ObjectStore }[] = [];
  let isStarted = false;
  let isReady = false;
  let isStopped = false;

  let outbox: ObjectChange[] = [];
  let isFlushing = false;
  const wanted = new Wanted();
  const diagnostics = new SourceDiagnostics(options.onDiagnostics);
  const scope = new Scope({
    namespace,
    isSelective: namespaceSelector !== undefined,
    named,
    onNamespace: followNamespace,
    onListed: () => markRead(namespaceFeed),
  });
  const namespaceFeed: Feed = { kind: 'Namespace' };
  const reader = new NameReader({
    client,
    clock,
    timeoutMs,
    observe: (ref) => observe?.({ type: 'read', ref }),
    onRead(ref, raw, version) {
      storeOf(ref)?.read(ref, raw, version);
      gate.settled(ref);
    },
  });
  const gate = new IngressGate({
    clock,
    wanted,
    referencesOf,
    onGained: readMissing,
    onLost: (refs) => {
      for (const ref of refs) {
        reader.cancel(ref);
        if (!scope.isNamed(ref)) storeOf(ref)?.drop(ref);
      }
    },
    isReading: (ref) => reader.isReading(ref),
    onUpsert: (ingress) => push({ upsert: ingress }),
    onRemove: (key) => push({ remove: { ...objectRef('Ingress', key), kind: 'Ingress' } }),
  });

  function referencesOf(ingress: Ingress): readonly ObjectRef[] {
    try {
      return options.referencesOf(ingress).filter(({ kind }) => BY_REFERENCE.has(kind));
    } catch {
      // What fails on this Ingress here fails in the build too, which says so.
      return [];
    }
  }

  function push(change: ObjectChange): void {
    outbox.push(change);
    if (!isReady || isFlushing) return;
    isFlushing = true;
    // What arrives together is handed over together.
    setImmediate(flush);
  }

  function flush(): void {
    isFlushing = false;
    if (isStopped) return;
    const changes = outbox;
    outbox = [];
    if (changes.length > 0) onChanges(changes);
  }

  /** The bytes of what is wanted from now on were not kept, unless the first list is still to come. */
  function readMissing(refs: readonly ObjectRef[]): void {
    for (const ref of refs) {
      const store = storeOf(ref);
      if (store?.hasBegun && scope.includes(ref) && store.get(ref) === undefined) reader.read(ref);
    }
  }

  function storeOf(ref: ObjectRef): ObjectStore | undefined {
    return stores.find(({ feed }) => feed.kind === ref.kind && covers(feed, ref))?.store;
  }

  function onUpsert(object: KubernetesObject): void {
    if (!scope.includes(object)) return;
    if (object.kind === 'Ingress') gate.upsert(object);
    else push({ upsert: object });
    if (!reader.isReading(object)) return;
    // The watch was faster.
    reader.cancel(object);
    gate.settled(object);
  }

  function onRemove({ kind, namespace: where, name }: KubernetesObject): void {
    if (kind === 'Ingress') gate.remove(`${where}/${name}`);
    else push({ remove: { kind, namespace: where, name } });
  }

  /** With a selector the objects of all namespaces are held, those of the others unseen. */
  function followNamespace(changed: string, isWatched: boolean): void {
    for (const { feed, store } of stores) {
      for (const object of store.inNamespace(changed)) {
        if (scope.isNamed(object)) continue;
        if (isWatched) onUpsert(object);
        else if (BY_REFERENCE.has(feed.kind)) store.drop(object);
        else onRemove(object);
      }
    }
    const refs = wanted.inNamespace(changed);
    if (isWatched) readMissing(refs);
    for (const ref of refs) {
      if (scope.includes(ref)) continue;
      reader.cancel(ref);
      gate.settled(ref);
    }
  }

  function addStore(feed: Feed & { readonly kind: ObjectKind }): void {
    const store = new ObjectStore({
      kind: feed.kind,
      isWanted: BY_REFERENCE.has(feed.kind) ? (ref) => scope.includes(ref) && wanted.has(ref) : () => true,
      onUpsert,
      onRemove: (object) => {
        if (BY_REFERENCE.has(feed.kind) || scope.includes(object)) onRemove(object);
      },
      onListed: () => markRead(feed),
      onDiagnostics: () => diagnostics.tellSoon(),
    });
    diagnostics.addOrigin(() => store.diagnostics());
    stores.push({ feed, store });
    unread.add(feed);
  }

  function startFeed(feed: Feed, sink: ReflectorSink): void {
    const { kind, name, service } = feed;
    const { apiVersion, fieldSelector } = describeKind(kind);
    const isOptional = OPTIONAL.has(kind);
    const reflector = new Reflector({
      client,
      clock,
      idleMs,
      timeoutMs,
      kind,
      apiVersion,
      sink,
      path: collectionPath(kind, feed.namespace),
      query: {
        fieldSelector: name === undefined ? fieldSelector : `metadata.name=${name}`,
        labelSelector: service === undefined ? selectorOf(kind) : `kubernetes.io/service-name=${service}`,
      },
      observe: (event) => observe?.({ ...event, ...feed }),
      onFault(fault) {
        diagnostics.setFault(feed, fault, isOptional);
        if (isOptional && (fault?.status === 403 || fault?.status === 404)) markRead(feed);
      },
    });
    reflectors.push(reflector);
    reflector.start();
  }

  function selectorOf(kind: WatchedKind): string | undefined {
    return kind === 'Namespace' ? namespaceSelector : undefined;
  }

  function startStores(isInTurn: (feed: Feed) => boolean): void {
    for (const { feed, store } of stores) if (isInTurn(feed)) startFeed(feed, store);
  }

  const isLate = ({ kind, name }: Feed) => BY_REFERENCE.has(kind) && name === undefined;
  /** When these are read it is known who refers to what. */
  const isDecisive = ({ kind }: Feed) => kind === 'Ingress' || kind === 'Namespace';

  function markRead(feed: Feed): void {
    if (!unread.delete(feed) || isStopped) return;
    if (isDecisive(feed) && ![...unread].some(isDecisive)) startStores(isLate);
    if (unread.size > 0) return;
    isReady = true;
    flush();
    ready.resolve();
  }

  return {
    start() {
      if (isStarted) return ready.promise;
      isStarted = true;
      wanted.replace(
        FLAGS,
        named.filter(({ kind }) => BY_REFERENCE.has(kind)),
      );
      for (const kind of [...AT_ONCE, 'Secret', 'ConfigMap'] as const) {
        addStore({ kind, ...(namespace !== undefined && describeKind(kind).isNamespaced && { namespace }) });
      }
      for (const { kind, namespace: where, name } of scope.namedElsewhere()) {
        addStore({ kind: kind as ObjectKind, namespace: where, name });
        if (kind === 'Service') addStore({ kind: 'EndpointSlice', namespace: where, service: name });
      }
      if (namespaceSelector !== undefined) {
        unread.add(namespaceFeed);
        startFeed(namespaceFeed, scope);
      }
      startStores((feed) => !isLate(feed));
      return ready.promise;
    },
    async stop() {
      isStopped = true;
      reader.stop();
      gate.stop();
      ready.reject(new Error('The Kubernetes source was stopped before everything was read'));
      ready.promise.catch(() => {});
      await Promise.all(reflectors.map((reflector) => reflector.stop()));
    },
    watches: (namespace) => scope.isWatched(namespace),
    diagnostics: () => diagnostics.all(),
  };
}

function covers(feed: Feed, ref: ObjectRef): boolean {
  if (feed.name !== undefined) return feed.name === ref.name && feed.namespace === ref.namespace;
  return feed.namespace === undefined || feed.namespace === ref.namespace;
}
