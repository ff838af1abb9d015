import { execFile } from 'node:child_process';
import { describe, expect, test, vi } from 'vitest';
import { main } from '../main.ts';
import { flagWarnings } from './arguments.ts';
import { commands, flagGroups, flagsOf } from './table.ts';

/** The flags of ingress-nginx 1.15 with their defaults. */
const INGRESS_NGINX: Readonly<Record<string, unknown>> = {
  'apiserver-host': undefined,
  'certificate-authority': undefined,
  kubeconfig: undefined,
  configmap: undefined,
  'default-backend-service': undefined,
  'default-ssl-certificate': undefined,
  'ingress-class': 'nginx',
  'controller-class': 'k8s.io/ingress-nginx',
  'watch-ingress-without-class': false,
  'ingress-class-by-name': false,
  'tcp-services-configmap': undefined,
  'udp-services-configmap': undefined,
  'publish-service': undefined,
  'publish-status-address': undefined,
  'update-status': true,
  'update-status-on-shutdown': true,
  'status-update-interval': 60,
  'report-node-internal-ip-address': false,
  'election-id': 'ingress-controller-leader',
  'election-ttl': '30s',
  'disable-leader-election': false,
  'watch-namespace': undefined,
  'watch-namespace-selector': undefined,
  'sync-period': '0s',
  'sync-rate-limit': 0.3,
  'disable-catch-all': false,
  'disable-svc-external-name': false,
  'annotations-prefix': 'nginx.ingress.kubernetes.io',
  'enable-annotation-validation': true,
  'deep-inspect': true,
  'validating-webhook': undefined,
  'validating-webhook-certificate': undefined,
  'validating-webhook-key': undefined,
  'disable-full-test': false,
  'health-check-path': '/healthz',
  'health-check-timeout': 10,
  'healthz-port': 10254,
  'healthz-host': undefined,
  'http-port': 80,
  'https-port': 443,
  'default-server-port': 8181,
  'status-port': 10246,
  'stream-port': 10247,
  'internal-logger-address': '127.0.0.1:11514',
  'enable-ssl-passthrough': false,
  'ssl-passthrough-proxy-port': 442,
  'enable-ssl-chain-completion': false,
  'enable-topology-aware-routing': false,
  'enable-metrics': false,
  'metrics-per-host': true,
  'metrics-per-undefined-host': false,
  'report-status-classes': false,
  'time-buckets': '0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10',
  'length-buckets': '10,20,30,40,50,60,70,80,90,100',
  'size-buckets': '10,100,1000,10000,100000,1e+06,1e+07',
  'bucket-factor': 0,
  'max-buckets': 100,
  'exclude-socket-metrics': undefined,
  'monitor-max-batch-size': 10_000,
  profiling: true,
  'profiler-port': 10245,
  'profiler-address': '127.0.0.1',
  'shutdown-grace-period': 0,
  // 10 in a cluster, which is decided when it is known what is served.
  'post-shutdown-grace-period': undefined,
  'disable-sync-events': false,
  'dynamic-configuration-retries': 15,
  'maxmind-mirror': undefined,
  'maxmind-license-key': undefined,
  'maxmind-edition-ids': 'GeoLite2-City,GeoLite2-ASN',
  'maxmind-retries-count': 1,
  'maxmind-retries-timeout': '0s',
};

const KLOG = ['v', 'vmodule', 'logtostderr', 'alsologtostderr', 'stderrthreshold', 'log-dir', 'log-file'];
const FORMER = ['enable-dynamic-certificates', 'force-namespace-isolation', 'sort-backends'];

/** Only a proxy of its own can end later than the process. */
const OF_RUN_ONLY: ReadonlySet<string> = new Set(['shutdown-grace-period', 'post-shutdown-grace-period']);

describe('the table of flags', () => {
  test.each(Object.entries(INGRESS_NGINX))('has --%s of ingress-nginx, with its default %j', (name, value) => {
    expect(flagsOf('run')).toHaveProperty([name]);
    expect(flagsOf('run')[name]?.default).toEqual(value);
    if (!OF_RUN_ONLY.has(name)) expect(flagsOf('serve')[name]).toEqual(flagsOf('run')[name]);
  });

  test.each([...KLOG, ...FORMER])('has --%s', (name) => {
    for (const command of ['run', 'serve'] as const) expect(flagsOf(command)).toHaveProperty([name]);
  });

  test.each(commands)('gives no name of %s two meanings', (command) => {
    const names = flagGroups
      .filter((group) => group.commands.includes(command))
      .flatMap(({ flags }) => Object.keys(flags));
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
    expect(names.filter((name) => !/^[a-z][a-z0-9-]*$/.test(name))).toEqual([]);
  });

  test('describes every flag', () => {
    const undescribed = flagGroups.flatMap(({ title, flags }) =>
      Object.entries(flags).flatMap(([name, flag]) => (flag.describe ? [] : [`${title}: ${name}`])),
    );
    expect(undescribed).toEqual([]);
  });
});

const withoutMeaning = Object.entries(flagsOf('run')).filter(([, flag]) => flag.withoutMeaning !== undefined);

/** A value that is not the default. */
function otherValue({ type, duration, default: usual }: (typeof withoutMeaning)[number][1]): string {
  if (type === 'boolean') return String(!usual);
  if (type === 'number') return '7';
  return duration ? '7m' : '7,8';
}

/** The same value as the default, written in another way where there is one. */
function defaultAgain({ type, duration, default: usual }: (typeof withoutMeaning)[number][1]): string {
  if (type === 'boolean') return usual ? 'T' : 'F';
  return duration ? '0m' : String(usual ?? '');
}

describe('a flag without meaning', () => {
  test.each(withoutMeaning)('--%s is told with its reason when it asks for something', (name, flag) => {
    const warnings = flagWarnings([`--${name}=${otherValue(flag)}`], { [name]: flag });
    expect(warnings).toEqual([`--${name} does nothing here: ${flag.withoutMeaning}`]);
    expect(flagWarnings([], { [name]: flag })).toEqual([]);
  });

  test('is told once in the log of run, whichever way it is spelt, and stops nothing', async () => {
    const { output, code } = await cli(withoutMeaning.map(([name, flag]) => `--${name}=${otherValue(flag)}`));
    for (const [name] of withoutMeaning) expect(output.split(`--${name} does nothing here`)).toHaveLength(2);
    expectOnlyEnvoyMissing(output, code);
  });

  test('says nothing when it asks for what is there anyway', async () => {
    const { output, code } = await cli(
      withoutMeaning.map(([name, flag]) => `--${name.replaceAll('-', '_')}=${defaultAgain(flag)}`),
    );
    expect(output).not.toContain('does nothing');
    expectOnlyEnvoyMissing(output, code);
  });

  test('that is given twice counts as given last', () => {
    expect(flagWarnings(['--profiling=false', '--profiling=true'], flagsOf('run'))).toEqual([]);
    expect(flagWarnings(['--profiling=true', '--profiling=false'], flagsOf('run'))).toHaveLength(1);
  });
});

test('a status interval that is too short is raised, and told', () => {
  expect(flagWarnings(['--status-update-interval=3'], flagsOf('run'))).toEqual([
    '--status-update-interval=3 is too little: 5 is used',
  ]);
});

describe('a flag that is refused', () => {
  const refused = Object.entries(flagsOf('run')).filter(([, flag]) => flag.refused !== undefined);

  test('exists', () => expect(refused.length).toBeGreaterThan(0));

  test.each(refused)('--%s ends the start with what to do instead', async (name, flag) => {
    expect(await mainWith(['run', '--manifests', 'nowhere', `--${name}=shop/options`])).toEqual({
      code: 1,
      output: `ingress-xds: --${name} is not supported: ${flag.refused}\n`,
    });
  });
});

/** The arguments that the chart of ingress-nginx 1.15 gives to its container, with the variables of the pod filled in. */
const CHART = [
  '/nginx-ingress-controller',
  '--publish-service=ingress-nginx/ingress-nginx-controller',
  '--election-id=ingress-nginx-leader',
  '--controller-class=k8s.io/ingress-nginx',
  '--ingress-class=nginx',
  '--configmap=ingress-nginx/ingress-nginx-controller',
  '--validating-webhook=:8443',
  '--validating-webhook-certificate=/usr/local/certificates/cert',
  '--validating-webhook-key=/usr/local/certificates/key',
];

const CHARTS: Readonly<Record<string, readonly string[]>> = {
  'a Deployment with webhook': CHART,
  'a Deployment with metrics': [...CHART, '--enable-metrics=true'],
  'a DaemonSet on the network of its nodes': [
    ...CHART.filter((argument) => !argument.startsWith('--publish-service')),
    '--report-node-internal-ip-address=true',
    '--http-port=80',
    '--https-port=443',
  ],
  'everything that values can turn on': [
    ...CHART,
    '--default-backend-service=ingress-nginx/ingress-nginx-defaultbackend',
    '--tcp-services-configmap=ingress-nginx/ingress-nginx-tcp',
    '--udp-services-configmap=ingress-nginx/ingress-nginx-udp',
    '--watch-namespace=ingress-nginx',
    '--maxmind-license-key=secret',
    '--healthz-host=0.0.0.0',
    '--health-check-path=/health',
    '--ingress-class-by-name=true',
    '--watch-ingress-without-class=true',
    '--enable-topology-aware-routing=true',
    '--enable-ssl-passthrough',
    '--election-ttl=40s',
    '--v=3',
  ],
};

const POD = { POD_NAME: 'ingress-nginx-controller-0', POD_NAMESPACE: 'ingress-nginx' };

test.each(Object.entries(CHARTS))('the arguments of the chart are accepted: %s', async (_, argv) => {
  const { output, code } = await cliOf([...argv, '--envoy-path', '/nonexistent'], POD);
  expectOnlyEnvoyMissing(output, code);
});

describe('in a cluster', () => {
  const KUBECONFIG = ['run', '--kubeconfig=/nonexistent', '--envoy-path=/nonexistent'];

  test.each<[string[], string]>([
    [['--echo'], '--echo needs --manifests'],
    [['--endpoint=a/b:80=127.0.0.1:1'], '--endpoint needs --manifests'],
    [['--watch-namespace=a', '--watch-namespace-selector=b'], '--watch-namespace and --watch-namespace-selector'],
    [['--publish-service=a/b', '--publish-status-address=::1'], '--publish-service and --publish-status-address'],
    [['--publish-service=b'], '--publish-service=b: must be NAMESPACE/NAME'],
    [['--watch-namespace=a/b'], '--watch-namespace=a/b: must be the name of a namespace'],
    [['--validating-webhook=8443'], '--validating-webhook=8443: must be HOST:PORT or :PORT'],
    [['--validating-webhook=:99999'], '--validating-webhook=:99999: must be HOST:PORT or :PORT'],
    [['--validating-webhook=:8443'], '--validating-webhook needs --validating-webhook-certificate'],
    [['--validating-webhook=:443'], '--validating-webhook=:443: --https-port has this port already'],
    [['--validating-webhook=:8443', '--validating-webhook-certificate=a'], 'needs --validating-webhook-key'],
    [['--election-ttl=500ms'], '--election-ttl: must be 1s or more'],
    [['--election-id=a/b'], '--election-id=a/b: must be the name of a Lease'],
    [['--kubeconfig=x', '--manifests=y'], '--kubeconfig is for a cluster: not together with --manifests'],
    [['--post-shutdown-grace-period=-1'], '--post-shutdown-grace-period=-1: must be a number, 0 or more'],
  ])('%j are refused in one line', async (flags, message) => {
    vi.stubEnv('POD_NAME', POD.POD_NAME);
    vi.stubEnv('POD_NAMESPACE', POD.POD_NAMESPACE);
    try {
      const { code, output } = await mainWith([...KUBECONFIG, ...flags]);
      expect(output).toContain(message);
      expect(output.trimEnd()).not.toContain('\n');
      expect(code).toBe(2);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test.each<[string[], string | undefined]>([
    [[], 'no POD_NAME and POD_NAMESPACE, needed to elect a leader'],
    [['--publish-service=a/b'], 'needed to elect a leader (or give --disable-leader-election)\n'],
    [['--disable-leader-election'], 'needed to find the nodes whose addresses are published'],
    [['--disable-leader-election', '--publish-status-address=::1'], undefined],
    [['--update-status=false'], 'needed to elect a leader (or give --disable-leader-election)\n'],
    [['--update-status=false', '--disable-leader-election'], undefined],
  ])('%j without the name of the pod', async (flags, message) => {
    const { output, code } = await cliOf([...KUBECONFIG, ...flags], { POD_NAME: '', POD_NAMESPACE: '' });
    if (message === undefined) return expectOnlyEnvoyMissing(output, code);
    expect(output).toContain(message);
    expect(code).toBe(2);
  });
});

/** The command line got as far as looking for its proxy, which is not there. */
function expectOnlyEnvoyMissing(output: string, code: number): void {
  expect(output.trimEnd().split('\n').at(-1)).toMatch(/^ingress-xds: .*\/nonexistent/);
  expect(code).toBe(1);
}

function cli(flags: readonly string[]): Promise<{ code: number; output: string }> {
  return cliOf(['run', '--manifests=nowhere', '--envoy-path=/nonexistent', ...flags]);
}

/** The real command line in a process of its own, with its log. */
function cliOf(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: number; output: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; output: string }>();
  const script = new URL('../main.ts', import.meta.url).pathname;
  const options = { env: { ...process.env, ...env }, timeout: 20_000 };
  execFile(process.execPath, [script, ...argv], options, (error, stdout, stderr) => {
    resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
  });
  return promise;
}

async function mainWith(argv: readonly string[]): Promise<{ code: number; output: string }> {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const code = await main(argv);
    return { code, output: written.mock.calls.map(([text]) => String(text)).join('') };
  } finally {
    written.mockRestore();
  }
}
