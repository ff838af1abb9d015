/** How to reach the API server and as whom: `--kubeconfig`, `--apiserver-host`, in-cluster, or the usual kubeconfig files. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { KubernetesConfigError, KubernetesUnreachable } from './errors.ts';

export interface ConnectionOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string;
  /** URL of the API server; replaces the one of the kubeconfig file, and stands alone without credentials. */
  readonly apiserverHost?: string;
  /** Path of a PEM file with the authorities that may have signed the certificate of `apiserverHost`. */
  readonly certificateAuthority?: string;
}

/** What a request needs. `agents` stay the same until the certificates change. */
export interface Access {
  readonly server: URL;
  /** Holds the token: never to be logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly agents: Agents;
}

/** Apart from each other, so that watches never use up what requests wait for. */
interface Agents {
  readonly fingerprint: string;
  readonly requests: http.Agent;
  readonly watches: http.Agent;
}

export interface Credentials {
  /** @throws KubernetesUnreachable when a file or a plugin that should give credentials fails. */
  access(): Promise<Access>;
  /** The API server did not take these: files are read and plugins run again for the next request. */
  refuse(access: Access): void;
}

/** How long what was read from files counts, in milliseconds. Tokens and certificates are replaced well before they expire. */
const FRESH_MS = 10_000;
const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** @throws KubernetesConfigError that names the file, flag or field when there is no usable configuration. */
export function createCredentials(options: ConnectionOptions): Credentials {
  let config: KubeConfig | undefined = loadConfig(options);
  let agents: Agents | undefined;
  let current: Current | undefined;

  async function read(): Promise<Access> {
    config ??= loadConfig(options);
    const requestOptions: https.RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(requestOptions);
    } catch (error) {
      throw new KubernetesUnreachable(`Credentials for the API server cannot be had: ${explain(error)}`);
    }
    const cluster = config.getCurrentCluster();
    const server = new URL(cluster?.server ?? '');
    agents = agentsFor(server, requestOptions, cluster?.proxyUrl !== undefined, agents);
    return { server, headers: headersOf(requestOptions), agents };
  }

  return {
    access() {
      const now = performance.now();
      if (current !== undefined && now < current.until) return current.access;
      const reading: Current = { access: read(), until: now + FRESH_MS, value: undefined };
      current = reading;
      reading.access.then(
        (access) => {
          reading.value = access;
        },
        () => {
          if (current === reading) current = undefined;
        },
      );
      return reading.access;
    },
    refuse(refused) {
      // Several requests may be refused at once; what one of them has renewed already stays.
      if (current?.value !== refused) return;
      current = undefined;
      config = undefined;
    },
  };
}

interface Current {
  readonly access: Promise<Access>;
  /** On the clock of `performance.now`. */
  readonly until: number;
  /** Once it is there. */
  value: Access | undefined;
}

/**
 * The library takes most of a second and some 80 MB, types of every object included: it is loaded with the first connection, so
 * that whoever serves a folder of manifests does without.
 */
function library(): typeof import('@kubernetes/client-node') {
  return createRequire(import.meta.url)('@kubernetes/client-node');
}

function loadConfig(options: ConnectionOptions): KubeConfig {
  const { kubeconfig, apiserverHost, certificateAuthority } = options;
  const config = new (library().KubeConfig)();
  const from = readConfig(config, options);
  if (apiserverHost !== undefined || config.getCurrentCluster() !== null) {
    const known = config.getCurrentCluster();
    const server = apiserverHost ?? known?.server ?? '';
    const url = readServer(server, apiserverHost === undefined ? from : '--apiserver-host');
    const cluster = {
      ...known,
      name: known?.name ?? 'cluster',
      server,
      // The library refuses plain HTTP otherwise; there is nothing to verify.
      skipTLSVerify: url.protocol === 'http:' || (known?.skipTLSVerify ?? false),
      ...(apiserverHost !== undefined && certificateAuthority !== undefined && { caFile: certificateAuthority }),
    };
    config.clusters = [cluster, ...config.clusters.filter(({ name }) => name !== cluster.name)];
    if (known !== null) return config;
    config.loadFromClusterAndUser(cluster, { name: 'nobody' });
    return config;
  }
  const context = config.getCurrentContext();
  const what =
    context === undefined || context === ''
      ? 'current-context is not set'
      : `the current context ${JSON.stringify(context)} or its cluster does not exist`;
  throw new KubernetesConfigError(`${kubeconfig ?? from}: ${what}`);
}

/** Returns what messages call the place that the configuration came from. */
function readConfig(config: KubeConfig, { kubeconfig, apiserverHost }: ConnectionOptions): string {
  if (kubeconfig !== undefined) return readFile(config, kubeconfig, () => config.loadFromFile(kubeconfig));
  if (apiserverHost !== undefined) return '--apiserver-host';
  if ((process.env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(SERVICE_ACCOUNT_TOKEN)) {
    config.loadFromCluster();
    return 'The service account of the pod';
  }
  const named = process.env['KUBECONFIG'] ?? '';
  const usual = named === '' ? join(homedir(), '.kube', 'config') : named;
  if (named === '' && !existsSync(usual)) {
    throw new KubernetesConfigError(
      `No Kubernetes cluster is known: this is no pod with a service account, KUBECONFIG is not set and ${usual} does not exist. Set --kubeconfig or --apiserver-host`,
    );
  }
  return readFile(config, usual, () => (named === '' ? config.loadFromFile(usual) : config.loadFromDefault()));
}

function readFile(config: KubeConfig, path: string, load: () => void): string {
  try {
    load();
    for (const file of path.split(delimiter).filter((one) => one !== '')) readTokenFiles(config, file);
  } catch (error) {
    throw new KubernetesConfigError(`kubeconfig ${path} cannot be used: ${explain(error)}`);
  }
  if (config.clusters.length === 0) throw new KubernetesConfigError(`kubeconfig ${path} holds no cluster`);
  return `kubeconfig ${path}`;
}

/** `tokenFile` of a user, which the library does not know in kubeconfig files. */
function readTokenFiles(config: KubeConfig, path: string): void {
  const { users } = library().loadYaml<{ users?: readonly { name?: string; user?: { tokenFile?: unknown } }[] }>(
    readFileSync(path, 'utf8'),
  );
  for (const { name, user } of users ?? []) {
    if (typeof user?.tokenFile !== 'string') continue;
    const tokenFile = resolve(dirname(path), user.tokenFile);
    config.users = config.users.map((known) => {
      if (known.name !== name) return known;
      const { token, ...others } = known;
      return { ...others, authProvider: { name: 'tokenFile', config: { tokenFile } } };
    });
  }
}

function readServer(server: string, from: string): URL {
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
    throw new KubernetesConfigError(
      `${from}: ${JSON.stringify(server)} is no URL of an API server such as "https://10.0.0.1:6443"`,
    );
  }
  return new URL(server);
}

/** Parsers quote what they could not read, which may be a token: only the reason is repeated. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SyntaxError) return 'what the plugin printed is not JSON';
  if (error.name === 'YAMLException') {
    const { reason, mark } = error as { reason?: string; mark?: { line?: number } };
    return `not valid YAML${mark?.line === undefined ? '' : ` in line ${mark.line + 1}`}: ${reason ?? ''}`;
  }
  return error.message.trim();
}

function headersOf({ headers = {}, auth }: https.RequestOptions): Record<string, string> {
  const read = Object.entries(headers as Record<string, unknown>).map(([name, value]) => [name, String(value).trim()]);
  const basic = typeof auth === 'string' ? [['Authorization', `Basic ${Buffer.from(auth).toString('base64')}`]] : [];
  return Object.fromEntries([...read, ...basic]);
}

function agentsFor(server: URL, options: https.RequestOptions, hasProxy: boolean, former: Agents | undefined): Agents {
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([ca, cert, key, servername, rejectUnauthorized, hasProxy].map((part) => part ?? null)))
    .digest('hex');
  if (former?.fingerprint === fingerprint) return former;
  if (hasProxy && options.agent instanceof http.Agent) {
    return { fingerprint, requests: options.agent, watches: options.agent };
  }
  const tls = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  };
  const create = (maxSockets: number) => {
    const common = { keepAlive: true, maxSockets, maxFreeSockets: 4, scheduling: 'lifo' as const };
    return server.protocol === 'http:' ? new http.Agent(common) : new https.Agent({ ...common, ...tls });
  };
  return { fingerprint, requests: create(16), watches: create(Number.POSITIVE_INFINITY) };
}
