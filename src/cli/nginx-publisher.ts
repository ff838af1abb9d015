import type { Publisher } from '../controller.ts';
import type { Pass } from '../derive.ts';
import { DEFAULT_CERTIFICATE } from '../model/proxy-model.ts';
import { certificateFile } from '../nginx/certificate-file.ts';
import { type RunTimeChange, type RunTimeState, type RunTimeUpdater, serverNamesByName } from '../nginx/dynamic.ts';
import { NGINX, type NginxEmitter } from '../nginx/emit.ts';
import type { NginxPublisher, NginxTarget } from '../nginx/publish.ts';
import { upstreamName } from '../nginx/upstream.ts';

export interface NginxPublication extends Publisher {
  /** Resolves when everything that passes have changed so far was tried. */
  settled(): Promise<void>;
  /** The configuration that was asked for last is in force: what only the former one needed can go. */
  loaded(): void;
}

/**
 * What passes change, brought to nginx in the order in which nothing is missing: new backends and certificates, then the
 * configuration that refers to them, then what goes.
 */
export function createNginxPublication(
  emitter: NginxEmitter,
  options: {
    readonly folder: string;
    readonly publisher: Pick<NginxPublisher, 'publish'>;
    /** Absent where every change needs a reload. */
    readonly updater?: Pick<RunTimeUpdater, 'update'>;
    readonly onError: (error: unknown) => void;
  },
): NginxPublication {
  const { folder, publisher, updater, onError } = options;
  let last: Promise<void> = Promise.resolve();
  let removals = emptyChange();
  let names: ReadonlyMap<string, string> = new Map();
  /** Whether a configuration was asked for that is not in force yet. */
  let pending = false;

  const inTurn = (task: () => Promise<void>) => {
    last = last.then(task).catch(onError);
  };

  const removeUnused = () => {
    if (updater === undefined || pending || isEmpty(removals)) return;
    const gone = removals;
    removals = emptyChange();
    inTurn(() => updater.update(gone));
  };

  return {
    diagnosticTables: emitter.diagnosticTables,
    settled: () => last,
    loaded: () => {
      pending = false;
      removeUnused();
    },
    *publish(pass) {
      const config = pass.of(emitter.config).get(NGINX);
      const before = names;
      names = namesOf(emitter);
      const { additions, removed } = split(changeOf(emitter, pass, before, names));
      removals = merge(removals, removed, additions);
      if (updater !== undefined && !isEmpty(additions)) inTurn(() => updater.update(additions));
      if (config !== undefined) {
        pending = true;
        const target = { config, files: filesOf(emitter, folder, updater !== undefined) } satisfies NginxTarget;
        inTurn(() => publisher.publish(target));
      }
      removeUnused();
      return undefined;
    },
  };
}

/** Everything that nginx is to have at run time. */
export function runTimeState(emitter: NginxEmitter): RunTimeState {
  const backends = new Map([...emitter.backends.keys()].map((key) => [upstreamName(key), emitter.backends.get(key)]));
  const certificates = new Map([...emitter.certificates.keys()].map((key) => [key, emitter.certificates.get(key)]));
  return { backends, certificates, names: namesOf(emitter) };
}

/** Where the configuration wants certificates: all of them, or only the one for the first moment of a master. */
function filesOf(emitter: NginxEmitter, folder: string, dynamic: boolean): NginxTarget['files'] {
  if (dynamic) {
    const certificate = emitter.certificates.get(DEFAULT_CERTIFICATE);
    return new Map(certificate === undefined ? [] : [[`${folder}/default.pem`, certificate]]);
  }
  return new Map(
    [...emitter.certificates.keys()].flatMap((name) => {
      const certificate = emitter.certificates.get(name);
      return certificate === undefined ? [] : [[certificateFile(folder, certificate), certificate] as const];
    }),
  );
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

function emptyChange(): RunTimeChange {
  return { backends: new Map(), certificates: new Map(), names: new Map() };
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

/** What still has to go: also what goes now, but not what has come back. */
function merge(before: RunTimeChange, removed: RunTimeChange, additions: RunTimeChange): RunTimeChange {
  return {
    backends: without(new Map([...before.backends, ...removed.backends]), additions.backends),
    certificates: without(new Map([...before.certificates, ...removed.certificates]), additions.certificates),
    names: without(new Map([...before.names, ...removed.names]), additions.names),
  };
}

type Values<V> = ReadonlyMap<string, V | undefined>;

function present<V>(values: Values<V>): Values<V> {
  return new Map([...values].filter(([, value]) => value !== undefined));
}

function absent<V>(values: Values<V>): Values<V> {
  return new Map([...values].filter(([, value]) => value === undefined));
}

function without<V>(values: Values<V>, others: Values<unknown>): Values<V> {
  return new Map([...values].filter(([key]) => !others.has(key)));
}
