import { toJson } from '../envoy/codec.ts';
import { messageType } from '../envoy/schema.ts';
import { shortTypeName, typeUrls } from '../xds/resource.ts';
import type { XdsServer } from '../xds/server.ts';
import type { SnapshotStore } from '../xds/store.ts';

/** What `inspect` shows, as JSON values; private keys are redacted. */
export interface Inspection {
  streams(): readonly unknown[];
  /**
   * The types with their numbers; the resources of one type; or one resource in Envoy's JSON form.
   * `undefined` for a type or a name that there is not.
   */
  resources(type: string | undefined, name: string | undefined): unknown;
}

/** Names of the types for people, in the order in which they are shown: from the port to the pod. */
const TYPES = {
  listeners: typeUrls.listener,
  extensions: typeUrls.extension,
  scopes: typeUrls.scopedRoutes,
  routes: typeUrls.routes,
  clusters: typeUrls.cluster,
  endpoints: typeUrls.endpoints,
  secrets: typeUrls.secret,
} as const;

export function createInspection(store: SnapshotStore, server: Pick<XdsServer, 'streams'>): Inspection {
  return {
    streams: () =>
      server.streams().map((stream) => {
        const { types, ...rest } = stream.describe();
        return { ...rest, upToDate: rest.programmedSeq >= store.seq, types };
      }),
    resources: (type, name) => {
      if (type === undefined) return Object.entries(TYPES).map(([title, url]) => summarize(store, title, url));
      const typeUrl = typeUrlOf(type);
      if (typeUrl === undefined) return undefined;
      return name === undefined ? list(store, typeUrl) : show(store, typeUrl, name);
    },
  };
}

/** `clusters`, `Cluster`, `cluster` or the whole type URL. */
function typeUrlOf(text: string): string | undefined {
  const wanted = text.toLowerCase();
  const isMeant = ([title, url]: readonly [string, string]) =>
    [title, title.replace(/s$/, ''), shortTypeName(url).toLowerCase(), url.toLowerCase()].includes(wanted);
  return Object.entries(TYPES).find(isMeant)?.[1];
}

function summarize(store: SnapshotStore, title: string, typeUrl: string): unknown {
  return { type: title, count: store.size(typeUrl), version: store.systemVersion(typeUrl) };
}

function list(store: SnapshotStore, typeUrl: string): readonly unknown[] {
  return [...store.names(typeUrl)].toSorted().map((name) => {
    const resource = store.get(typeUrl, name);
    return { name, version: resource?.version, origin: resource?.origin() };
  });
}

function show(store: SnapshotStore, typeUrl: string, name: string): unknown {
  const resource = store.get(typeUrl, name);
  if (resource === undefined) return undefined;
  const type = messageType(typeUrl.slice(typeUrl.indexOf('/') + 1));
  const { version } = resource;
  const json = toJson(type.fullName.slice(1) as Parameters<typeof toJson>[0], resource.body());
  return { name, version, origin: resource.origin(), resource: json };
}
