/**
 * The objects of an API server: everything once, when all kinds have been read, then every change. What the API server does
 * meanwhile (restart, hang, forget old versions) is between it and the reflectors: the state is kept.
 */
import type { ObjectChange } from '../cluster/cluster-state.ts';
import type { ConfigMap, Ingress, KubernetesObject, ObjectKind } from '../cluster/objects.ts';
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import { systemClock } from './clock.ts';
import { KubernetesConfigError } from './errors.ts';
import { covers, type Feed, isFeedOf } from './feed.ts';
import { collectionPath, describeKind, type WatchedKind } from './kinds.ts';
import { NameReader } from './name-reader.ts';
import { ObjectStore } from './object-store.ts';
import { ReferenceGate } from './reference-gate.ts';
import { Reflector, type ReflectorSink } from './reflector.ts';
import { Scope } from './scope.ts';
import { SourceDiagnostics } from './source-diagnostics.ts';
import type { KubernetesSource, KubernetesSourceOptions } from './source-options.ts';
import { Wanted } from './wanted.ts';

const IDLE_MS = 90_000;
const TIMEOUT_MS = 30_000;
/** They are listed when it is known which of them are wanted. */
const BY_REFERENCE: ReadonlySet<string> = new Set(['Secret', 'ConfigMap']);
const AT_ONCE: readonly ObjectKind[] = ['Ingress', 'IngressClass', 'Service', 'EndpointSlice'];
/** Without permission for these everything else is served all the same. */
const OPTIONAL: ReadonlySet<WatchedKind> = new Set(['IngressClass']);
/** Of what flags name, among the owners of references. */
const FLAGS = 'flags';

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
  const reflectors = new Map<Feed, Reflector>();
  /** Feeds that have not been read yet, and the kinds that must be read before references are known. */
  const unread = new Set<Feed>();
  const stores: { readonly feed: Feed; readonly store: ObjectStore }[] = [];
  let isStarted = false;
  let isReady = false;
  let isStopped = false;

  let outbox: ObjectChange[] = [];
  let isFlushing = false;
  const wanted = new Wanted();
  const namedOwners = named.filter(({ kind }) => kind === 'ConfigMap').map(describeRef);
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
      settled(ref);
    },
  });
  const common = {
    clock,
    wanted,
    onLost: (refs: readonly ObjectRef[]) => refs.forEach(letGo),
    isReading: (ref: ObjectRef) => reader.isReading(ref) || [...unread].some((feed) => isFeedOf(feed, ref)),
    onRemove: (ref: ObjectRef) => push({ remove: { ...ref, kind: ref.kind as ObjectKind } }),
  };
  const gate = new ReferenceGate<Ingress>({
    ...common,
    referencesOf: (ingress) => referencesOf(() => options.referencesOf(ingress)),
    onGained: readMissing,
    onUpsert: (ingress) => push({ upsert: ingress }),
  });
  const namedGate = new ReferenceGate<ConfigMap>({
    ...common,
    referencesOf: (configMap) => referencesOf(() => options.referencesOfNamed?.(configMap) ?? []),
    onGained: (refs) => {
      refs.forEach(follow);
      readMissing(refs);
    },
    onUpsert: (configMap) => {
      push({ upsert: configMap });
      becomeReady();
    },
  });

  function settled(ref: ObjectRef): void {
    gate.settled(ref);
    namedGate.settled(ref);
  }

  function referencesOf(find: () => readonly ObjectRef[]): readonly ObjectRef[] {
    try {
      return find().filter(({ kind }) => BY_REFERENCE.has(kind));
    } catch {
      // What fails on this object here fails in the build too, which says so.
      return [];
    }
  }

  /** In a namespace that no watch brings, it is watched by its name. */
  function follow(ref: ObjectRef): void {
    if (storeOf(ref) !== undefined) return;
    const feed: Feed = { kind: ref.kind as ObjectKind, namespace: ref.namespace, name: ref.name, isFollowed: true };
    startFeed(feed, addStore(feed));
  }

  /** Nobody refers to it any more. */
  function letGo(ref: ObjectRef): void {
    reader.cancel(ref);
    if (scope.isNamed(ref)) return;
    storeOf(ref)?.drop(ref);
    const index = stores.findIndex(({ feed }) => feed.isFollowed === true && isFeedOf(feed, ref));
    const [followed] = index < 0 ? [] : stores.splice(index, 1);
    if (followed === undefined) return;
    void reflectors.get(followed.feed)?.stop();
    reflectors.delete(followed.feed);
    diagnostics.setFault(followed.feed, undefined, true);
    markRead(followed.feed);
  }

  /** Whether objects of it are served: those of what is watched, and what flags and the ConfigMaps that they name lead to. */
  function includes(ref: ObjectRef): boolean {
    return scope.includes(ref) || isLedTo(ref);
  }

  function isLedTo(ref: ObjectRef): boolean {
    return BY_REFERENCE.has(ref.kind) && namedOwners.some((owner) => wanted.isOwner(owner, ref));
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
      if (store?.hasBegun && includes(ref) && store.get(ref) === undefined) reader.read(ref);
    }
  }

  function storeOf(ref: ObjectRef): ObjectStore | undefined {
    return stores.find(({ feed }) => feed.kind === ref.kind && covers(feed, ref))?.store;
  }

  function onUpsert(object: KubernetesObject): void {
    if (!includes(object)) return;
    if (object.kind === 'Ingress') gate.upsert(object);
    else if (object.kind === 'ConfigMap' && scope.isNamed(object)) namedGate.upsert(object);
    else push({ upsert: object });
    if (!reader.isReading(object)) return;
    // The watch was faster.
    reader.cancel(object);
    settled(object);
  }

  function onRemove({ kind, namespace: where, name }: KubernetesObject): void {
    const ref = { kind, namespace: where, name };
    if (kind === 'Ingress') gate.remove(ref);
    else if (kind === 'ConfigMap' && scope.isNamed(ref)) namedGate.remove(ref);
    else push({ remove: ref });
  }

  /** With a selector the objects of all namespaces are held, those of the others unseen. */
  function followNamespace(changed: string, isWatched: boolean): void {
    for (const { feed, store } of stores) {
      for (const object of store.inNamespace(changed)) {
        if (scope.isNamed(object) || isLedTo(object)) continue;
        if (isWatched) onUpsert(object);
        else if (BY_REFERENCE.has(feed.kind)) store.drop(object);
        else onRemove(object);
      }
    }
    const refs = wanted.inNamespace(changed);
    if (isWatched) readMissing(refs);
    for (const ref of refs) {
      if (includes(ref)) continue;
      reader.cancel(ref);
      settled(ref);
    }
  }

  function addStore(feed: Feed): ObjectStore {
    const store = new ObjectStore({
      kind: feed.kind as ObjectKind,
      isWanted: BY_REFERENCE.has(feed.kind) ? (ref) => includes(ref) && wanted.has(ref) : () => true,
      onUpsert,
      onRemove: (object) => {
        if (BY_REFERENCE.has(feed.kind) || includes(object)) onRemove(object);
      },
      onListed: () => markRead(feed),
      onDiagnostics: () => diagnostics.tellSoon(),
    });
    diagnostics.addOrigin(() => store.diagnostics());
    stores.push({ feed, store });
    unread.add(feed);
    return store;
  }

  function startFeed(feed: Feed, sink: ReflectorSink): void {
    const { kind, name, service } = feed;
    const { apiVersion, fieldSelector } = describeKind(kind);
    const isOptional = OPTIONAL.has(kind) || feed.isFollowed === true;
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
    reflectors.set(feed, reflector);
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
    const { kind, namespace: where, name } = feed;
    if (where !== undefined && name !== undefined) settled({ kind, namespace: where, name });
    becomeReady();
  }

  /** When everything is read, and what flags name is there with all that it refers to. */
  function becomeReady(): void {
    if (isReady || isStopped || unread.size > 0 || namedGate.isHolding) return;
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
      namedGate.stop();
      ready.reject(new Error('The Kubernetes source was stopped before everything was read'));
      ready.promise.catch(() => {});
      await Promise.all([...reflectors.values()].map((reflector) => reflector.stop()));
    },
    watches: (namespace) => scope.isWatched(namespace),
    diagnostics: () => diagnostics.all(),
  };
}
