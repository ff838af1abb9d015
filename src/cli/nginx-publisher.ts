import type { Publisher } from '../controller.ts';
import type { Pass } from '../derive.ts';
import { DEFAULT_CERTIFICATE } from '../model/proxy-model.ts';
import { backendSecretFiles, certificateFile, type FileContent, stapleFile } from '../nginx/certificate-file.ts';
import {
  mergeChanges,
  NO_CHANGE,
  type RunTimeChange,
  type RunTimeState,
  type RunTimeUpdater,
  serverNamesByName,
} from '../nginx/dynamic.ts';
import { NGINX, type NginxEmitter } from '../nginx/emit.ts';
import type { NginxPublisher, NginxTarget } from '../nginx/publish.ts';
import { upstreamName } from '../nginx/upstream.ts';

export interface NginxPublication {
  readonly diagnosticTables: Publisher['diagnosticTables'];
  /** Brings to nginx what the pass has changed. Returns whether it has changed anything. */
  publish(pass: Pass): boolean;
  /** This configuration is in force. */
  loaded(target: NginxTarget): void;
  /** Everything that nginx is to have at run time, also what only the configuration in force refers to. */
  state(): RunTimeState;
  /** Whether nginx has everything that passes have changed so far. */
  readonly settled: boolean;
}

/**
 * What passes change, brought to nginx in the order in which nothing is missing: new backends and certificates, then the
 * configuration that refers to them, then what goes. Changes at run time do not wait for a configuration that is on its way.
 */
export function createNginxPublication(
  emitter: NginxEmitter,
  options: {
    readonly folder: string;
    readonly publisher: Pick<NginxPublisher, 'publish'>;
    /** Absent where every change needs a reload. */
    readonly updater?: Pick<RunTimeUpdater, 'update' | 'synced'>;
  },
): NginxPublication {
  const { folder, publisher, updater } = options;
  const state = { backends: new Map(), certificates: new Map(), names: new Map() } satisfies RunTimeState;
  /** What goes once the configuration that was asked for last is in force. */
  let removals = NO_CHANGE;
  let names: ReadonlyMap<string, string> = new Map();
  /** What was asked for last, until it is in force. */
  let wanted: NginxTarget | undefined;

  const update = async (change: RunTimeChange) => {
    apply(state, change);
    if (!isEmpty(change)) await updater?.update(change);
  };

  const removeUnused = () => {
    if (wanted !== undefined) return;
    const gone = removals;
    removals = NO_CHANGE;
    void update(gone);
  };

  return {
    diagnosticTables: emitter.diagnosticTables,
    state: () => state,
    get settled() {
      return wanted === undefined && isEmpty(removals) && (updater?.synced ?? true);
    },
    loaded: (target) => {
      if (target === wanted) wanted = undefined;
      removeUnused();
    },
    publish(pass) {
      const config = pass.of(emitter.config).get(NGINX);
      const before = names;
      names = namesOf(emitter);
      const change = changeOf(emitter, pass, before, names);
      const { additions, removed } = split(change);
      removals = without(mergeChanges(removals, removed), additions);
      const updated = update(additions);
      if (config !== undefined) {
        const target = { config, files: filesOf(emitter, folder, updater !== undefined) };
        wanted = target;
        void updated.then(() => publisher.publish(target));
      }
      removeUnused();
      return config !== undefined || !isEmpty(change);
    },
  };
}

/** Where the configuration wants certificates: those for backends, and all others or only the one for the first moment of a master. */
function filesOf(emitter: NginxEmitter, folder: string, dynamic: boolean): NginxTarget['files'] {
  const files = new Map<string, FileContent>();
  for (const name of emitter.backendSecrets.keys()) {
    const secret = emitter.backendSecrets.get(name);
    if (secret !== undefined)
      for (const [file, content] of backendSecretFiles(folder, secret)) files.set(file, content);
  }
  if (dynamic) {
    const certificate = emitter.certificates.get(DEFAULT_CERTIFICATE);
    return certificate === undefined ? files : files.set(`${folder}/default.pem`, certificate);
  }
  for (const name of emitter.certificates.keys()) {
    const certificate = emitter.certificates.get(name);
    if (certificate === undefined) continue;
    files.set(certificateFile(folder, certificate), certificate);
    const staple = stapleFile(folder, certificate);
    if (staple !== undefined) files.set(staple, { bytes: certificate.ocspResponse! });
  }
  return files;
}

function namesOf(emitter: NginxEmitter): Map<string, string> {
  return serverNamesByName(emitter.serverNames.get('https') ?? []);
}

function changeOf(
  emitter: NginxEmitter,
  pass: Pass,
  before: ReadonlyMap<string, string>,
  names: ReadonlyMap<string, string>,
): RunTimeChange {
  const backends = new Map([...pass.of(emitter.backends)].map(([key, value]) => [upstreamName(key), value]));
  const certificates = pass.of(emitter.certificates);
  if (!pass.of(emitter.serverNames).has('https')) return { backends, certificates, names: new Map() };
  const changed = new Map<string, string | undefined>();
  for (const [name, certificate] of names) if (before.get(name) !== certificate) changed.set(name, certificate);
  for (const name of before.keys()) if (!names.has(name)) changed.set(name, undefined);
  return { backends, certificates, names: changed };
}

function isEmpty({ backends, certificates, names }: RunTimeChange): boolean {
  return backends.size + certificates.size + names.size === 0;
}

/** What comes or changes, and what goes. */
function split({ backends, certificates, names }: RunTimeChange) {
  return {
    additions: { backends: present(backends), certificates: present(certificates), names: present(names) },
    removed: { backends: absent(backends), certificates: absent(certificates), names: absent(names) },
  };
}

/** What has come back need not go. */
function without(change: RunTimeChange, others: RunTimeChange): RunTimeChange {
  return {
    backends: omit(change.backends, others.backends),
    certificates: omit(change.certificates, others.certificates),
    names: omit(change.names, others.names),
  };
}

function apply(
  state: { [K in keyof RunTimeState]: Map<string, unknown> },
  { backends, certificates, names }: RunTimeChange,
): void {
  for (const [part, changes] of [
    [state.backends, backends],
    [state.certificates, certificates],
    [state.names, names],
  ] as const) {
    for (const [key, value] of changes) {
      if (value === undefined) part.delete(key);
      else part.set(key, value);
    }
  }
}

type Values<V> = ReadonlyMap<string, V | undefined>;

function present<V>(values: Values<V>): Values<V> {
  return new Map([...values].filter(([, value]) => value !== undefined));
}

function absent<V>(values: Values<V>): Values<V> {
  return new Map([...values].filter(([, value]) => value === undefined));
}

function omit<V>(values: Values<V>, others: Values<unknown>): Values<V> {
  return new Map([...values].filter(([key]) => !others.has(key)));
}
