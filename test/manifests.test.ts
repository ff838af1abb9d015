/** manifests/: what is written there fits the program, and fits together. That a real API server takes it is tested in test/cluster. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import yargs from 'yargs';
import { AUTHORITY_SECRET, leafSecretName } from '../src/cli/certificate-secrets.ts';
import { argumentsFrom } from '../src/cli/flags/arguments.ts';
import { type Command, flagsOf } from '../src/cli/flags/table.ts';
import { checkRunArguments, checkServeArguments, type RunArguments, type ServeArguments } from '../src/cli/flags.ts';
import { DEFAULT_CLIENT } from '../src/cli/xds-tls.ts';
import { envoyArguments } from '../src/envoy/command-line.ts';
import { describeKind, type WatchedKind } from '../src/kubernetes/kinds.ts';

const FOLDER = join(import.meta.dirname, '../manifests');

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly valueFrom?: unknown }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: { readonly capabilities?: unknown; readonly allowPrivilegeEscalation?: boolean };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly initContainers?: readonly Container[];
  readonly containers?: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Document {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly resources?: readonly string[];
  readonly subjects?: readonly { readonly name: string; readonly namespace: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: of any kind
  readonly spec?: any;
}

const documents: Document[] = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml'))
  .toSorted()
  .flatMap((file) =>
    [...parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8'))].map((document) => {
      expect([document.errors, document.warnings]).toEqual([[], []]);
      return { file, ...(document.toJS() as Omit<Document, 'file'>) };
    }),
  );
const customizations = documents.filter(({ apiVersion }) => apiVersion.startsWith('kustomize.config.k8s.io/'));
const objects = documents.filter((document) => !customizations.includes(document));
const called = ({ file, kind, metadata }: Document) => `${file} ${kind} ${metadata.name}`;

const podSpecs = objects.flatMap((object): [string, PodSpec][] => {
  const template = object.spec?.jobTemplate?.spec.template ?? object.spec?.template;
  return template === undefined ? [] : [[called(object), template.spec as PodSpec]];
});
const containers = podSpecs.flatMap(([name, { initContainers = [], containers = [] }]) =>
  [...initContainers, ...containers].map((container): [string, Container] => [`${name} ${container.name}`, container]),
);

/** The command line of the product in a container, without the name of the program; `undefined` if it runs something else. */
function commandLines({ image, command, args = [], lifecycle }: Container): string[][] {
  const hook = lifecycle?.preStop.exec.command ?? [];
  const lines = [...(hook[0] === 'ingress-xds' ? [hook.slice(1)] : [])];
  if (command === undefined && image?.startsWith('ingress-xds/') && args.length > 0) lines.push([...args]);
  if (command?.[0] === '/bin/sh') {
    const [, words = ''] = /^exec ingress-xds (.*) > \S+$/.exec(args[0] ?? '') ?? [];
    lines.push(words.split(' '));
  }
  return lines;
}

test('every kustomization names files that are there, and every file is named', () => {
  const named = customizations.flatMap(({ file, resources = [], ...rest }) => {
    const { patches = [] } = rest as { readonly patches?: readonly { readonly path?: string }[] };
    return [...resources, ...patches.flatMap(({ path }) => path ?? [])].map((path) => join(file, '..', path));
  });
  const files = objects.map(({ file }) => file);
  expect(named.filter((path) => path.endsWith('.yaml')).toSorted()).toEqual([...new Set(files)].toSorted());
  const folders = customizations.map(({ file }) => join(file, '..'));
  expect(named.filter((path) => !path.endsWith('.yaml') && !folders.includes(path))).toEqual([]);
});

test.each(objects.map((object) => [called(object), object] as const))('%s is an object', (_, object) => {
  expect(object.apiVersion).toMatch(/^(?:[a-z0-9.]+\/)?v1$/);
  expect(object.kind).toMatch(/^[A-Z]\w+$/);
  expect(object.metadata.name).toMatch(/^[a-z0-9-]+$/);
});

describe('command lines', () => {
  const lines = containers.flatMap(([name, container]) =>
    commandLines(container).map((line) => [`${name}: ${line[0]}`, line] as const),
  );

  test('are found', () => {
    const commands = new Set(lines.map(([, [command]]) => command));
    expect(commands).toEqual(new Set(['serve', 'bootstrap', 'drain', 'certs', 'run']));
  });

  test.each(lines)('%s is accepted', async (_, [command, ...flags]) => {
    vi.stubEnv('POD_NAME', 'pod-0');
    vi.stubEnv('POD_NAMESPACE', 'ingress-xds');
    const table = flagsOf(command as Command);
    const parsed = await yargs(flags.map((flag) => flag.replaceAll('$(POD_NAMESPACE)', 'ingress-xds')))
      .options(table)
      .parserConfiguration({ 'greedy-arrays': false, 'boolean-negation': false, 'dot-notation': false })
      .strict()
      .exitProcess(false)
      .fail((message, error) => {
        throw error ?? new Error(message);
      })
      .parse();
    const args = argumentsFrom(parsed, table);
    if (command === 'serve') checkServeArguments(args as unknown as ServeArguments);
    if (command === 'run') checkRunArguments(args as unknown as RunArguments);
    vi.unstubAllEnvs();
  });

  test('use only variables that are set', () => {
    for (const [name, { args = [], env = [] }] of containers) {
      const used = args.flatMap((arg) => [...arg.matchAll(/\$\((\w+)\)/g)].map(([, variable]) => variable));
      expect([name, used.filter((variable) => !env.some((one) => one.name === variable))]).toEqual([name, []]);
    }
  });

  test('of Envoy are those that run gives it, but for the log and the number of threads', () => {
    const options = { bootstrapPath: '/run/ingress-xds/envoy.json', drainTimeS: 240, logLevel: 'warning' };
    const own = envoyArguments({ ...options, concurrency: 0 });
    const format = own.indexOf('--log-format');
    const expected = own.toSpliced(format, 2);
    const envoys = containers.filter(([, { command }]) => command?.[0] === 'envoy');
    expect(envoys.length).toBe(2);
    for (const [, { args = [] }] of envoys) {
      const threads = args.indexOf('--concurrency') + 1;
      expect(args.with(threads, '0')).toEqual(expected);
    }
  });

  test('give a pod more time to end than its hook or its proxy takes', () => {
    const times = podSpecs.flatMap(
      ([name, { terminationGracePeriodSeconds = 30, containers = [], initContainers = [] }]) =>
        [...initContainers, ...containers].flatMap((container) =>
          commandLines(container).flatMap(([command, ...flags]) => {
            if (command !== 'drain' && command !== 'run') return [];
            const seconds = (flag: string, otherwise: number) =>
              Number(flags.find((text) => text.startsWith(`--${flag}=`))?.split('=')[1] ?? otherwise);
            const needed = seconds('shutdown-grace-period', 0) + seconds('drain-timeout', 240);
            return [{ name, needed, given: terminationGracePeriodSeconds }];
          }),
        ),
    );
    expect(times.length).toBe(3);
    expect(times.filter(({ needed, given }) => given < needed + 20)).toEqual([]);
  });
});

describe('permissions', () => {
  const grants = (file: string, kind: string, name: string) =>
    objects
      .filter((object) => object.file === file && object.kind === kind && object.metadata.name === name)
      .flatMap(({ rules = [] }) => rules)
      .flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.map((verb) => `${verb} ${group}/${resource}${resourceNames ? ` ${resourceNames.join(' ')}` : ''}`),
          ),
        ),
      )
      .toSorted();
  const watched = (
    ['Ingress', 'IngressClass', 'Service', 'EndpointSlice', 'Secret', 'ConfigMap'] as WatchedKind[]
  ).flatMap((kind) => {
    const { apiVersion, resource } = describeKind(kind);
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
    return ['list', 'watch'].map((verb) => `${verb} ${group}/${resource}`);
  });

  test('of the control plane are what it watches, and what it writes, and no more', () => {
    expect(grants('common/rbac.yaml', 'ClusterRole', 'ingress-xds')).toEqual(
      [
        ...watched,
        'get /services',
        'get networking.k8s.io/ingresses',
        'update networking.k8s.io/ingresses/status',
        'create /events',
        'patch /events',
      ].toSorted(),
    );
    expect(grants('common/rbac.yaml', 'Role', 'ingress-xds')).toEqual([
      'create coordination.k8s.io/leases',
      'get /pods',
      'get coordination.k8s.io/leases ingress-xds-leader',
      'list /pods',
      'update coordination.k8s.io/leases ingress-xds-leader',
    ]);
  });

  test('in one namespace are the same, of which only classes are read everywhere', () => {
    const everywhere = grants('overlays/one-namespace/cluster-role.yaml', 'ClusterRole', 'ingress-xds');
    const inside = grants('overlays/one-namespace/role.yaml', 'Role', 'ingress-xds-objects');
    expect(everywhere).toEqual(['list networking.k8s.io/ingressclasses', 'watch networking.k8s.io/ingressclasses']);
    expect([...everywhere, ...inside].toSorted()).toEqual(grants('common/rbac.yaml', 'ClusterRole', 'ingress-xds'));
  });

  test('of the Job are the Secrets that it makes', () => {
    const leaves = ['ingress-xds-server', DEFAULT_CLIENT].map(leafSecretName).join(' ');
    expect(grants('base/certs.yaml', 'Role', 'ingress-xds-certs')).toEqual([
      'create /secrets',
      `get /secrets ${AUTHORITY_SECRET}`,
      `patch /secrets ${leaves}`,
    ]);
  });

  test('are bound to accounts that are there', () => {
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
    const roles = objects
      .filter(({ kind }) => kind.endsWith('Role'))
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    for (const { subjects = [], roleRef } of objects.filter(({ kind }) => kind.endsWith('RoleBinding'))) {
      expect(roles).toContain(`${roleRef?.kind} ${roleRef?.name}`);
      for (const { name, namespace } of subjects)
        expect([accounts.includes(name), namespace]).toEqual([true, 'ingress-xds']);
    }
    const used = podSpecs.flatMap(([, { serviceAccountName }]) => serviceAccountName ?? []);
    expect(used.filter((name) => !accounts.includes(name))).toEqual([]);
  });

  test('of containers: no privileges, and an image of one version', () => {
    const own = containers.filter(([, { image }]) => image?.startsWith('ingress-xds/'));
    const { version } = JSON.parse(readFileSync(join(FOLDER, '../package.json'), 'utf8')) as { version: string };
    expect(new Set(own.map(([, { image }]) => image))).toEqual(new Set([`ingress-xds/ingress-xds:${version}`]));
    // The patch for ingress-nginx leaves those of its chart.
    const ours = own.filter(([name]) => !name.includes('ingress-nginx-controller'));
    for (const [, { securityContext }] of ours) {
      expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });
      expect(securityContext?.capabilities).toEqual({ drop: ['ALL'] });
    }
  });
});

describe('what refers to each other', () => {
  test('Secrets that are mounted are those that certs makes', () => {
    const mounted = podSpecs.flatMap(([, { volumes = [] }]) =>
      volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    );
    expect(mounted.toSorted()).toEqual(
      ['ingress-xds-server', DEFAULT_CLIENT, 'shop-sidecar'].map(leafSecretName).toSorted(),
    );
  });

  test('volumes that are mounted are there', () => {
    for (const [name, { initContainers = [], containers = [], volumes = [] }] of podSpecs) {
      const mounts = [...initContainers, ...containers].flatMap(({ volumeMounts = [] }) =>
        volumeMounts.map((one) => one.name),
      );
      const missing = mounts.filter((mount) => !volumes.some((volume) => volume.name === mount));
      expect([name, missing]).toEqual([name, []]);
    }
  });

  test('Services, budgets and policies select pods, by labels and ports that pods have', () => {
    const workloads = objects.filter(({ spec }) => spec?.template !== undefined);
    // The port of the webhook comes by a patch: test/cluster asks there.
    const others = objects.filter(({ file }) => !file.startsWith('overlays/webhook/'));
    const selectors = others.flatMap((object) => {
      const { kind, spec } = object;
      if (kind === 'Service') return [{ object, labels: spec.selector, ports: spec.ports.map(targetPortOf) }];
      if (kind === 'PodDisruptionBudget') return [{ object, labels: spec.selector.matchLabels, ports: [] }];
      if (kind !== 'NetworkPolicy') return [];
      const ports = spec.ingress.flatMap((rule: { ports?: { port: string }[] }) => (rule.ports ?? []).map(portOf));
      return [{ object, labels: spec.podSelector.matchLabels, ports }];
    });
    expect(selectors.length).toBeGreaterThan(7);
    for (const { object, labels, ports } of selectors) {
      // What is common goes with each of the others, which do not go together.
      const isTogether = (file: string) => object.file.startsWith('common/') || dirname(file) === dirname(object.file);
      const selected = workloads.filter(
        ({ file, spec }) => isTogether(file) && matches(spec.template.metadata?.labels, labels),
      );
      expect([called(object), selected.length > 0]).toEqual([called(object), true]);
      for (const { spec } of selected) {
        const names = (spec.template.spec.containers as readonly Container[]).flatMap(({ ports = [] }) =>
          ports.map(({ name }) => name),
        );
        expect([called(object), ports.filter((port: string) => !names.includes(port))]).toEqual([called(object), []]);
      }
    }
  });

  test('the component for HTTP/3 opens one port over UDP, and gives a flag that is there', () => {
    const { patches } = customizations.find(({ file }) => file.startsWith('overlays/http3/')) as unknown as {
      readonly patches: readonly { readonly target: { readonly kind: string }; readonly patch: string }[];
    };
    const values = patches.flatMap(({ target, patch }) =>
      (parse(patch) as { readonly value: unknown }[]).map(({ value }) => [target.kind, value]),
    );
    expect(values).toEqual([
      ['Deployment', '--http3'],
      ['Deployment', { name: 'https-udp', containerPort: 443, protocol: 'UDP' }],
      ['NetworkPolicy', { port: 'https-udp', protocol: 'UDP' }],
      ['Service', { name: 'https-udp', port: 443, targetPort: 'https-udp', protocol: 'UDP' }],
    ]);
    for (const command of ['run', 'serve'] as const) expect(flagsOf(command)).toHaveProperty(['http3']);
  });

  test('a Deployment selects its own pods', () => {
    for (const object of objects.filter(({ kind, spec }) => kind === 'Deployment' && spec.selector !== undefined)) {
      const { selector, template } = object.spec;
      expect([called(object), matches(template.metadata.labels, selector.matchLabels)]).toEqual([called(object), true]);
    }
  });
});

function targetPortOf({ targetPort }: { readonly targetPort: string }): string {
  return targetPort;
}

function portOf({ port }: { readonly port: string }): string {
  return port;
}

function matches(labels: Readonly<Record<string, string>> = {}, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
