import { stringify } from 'yaml';
import { type MessageName, toJson } from '../envoy/codec.ts';
import { typeUrlPrefix } from '../envoy/schema.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { describeDiagnostic } from './describe-diagnostic.ts';
import {
  checkHttp3OfProxy,
  checkIngressArguments,
  checkSource,
  type IngressArguments,
  type SourceArguments,
  UsageError,
} from './flags.ts';
import { generateCertificate } from './generated-certificate.ts';
import { createPipeline } from './pipeline.ts';
import { runOnce, translateBuildOptions } from './run-once.ts';

export interface TranslateArguments extends SourceArguments, IngressArguments {
  readonly proxy: 'envoy' | 'nginx';
  readonly output: 'yaml' | 'json';
  readonly nginxTemplate?: string;
}

/** Resources by kind, each sorted by name, in Envoy's JSON form: what `/config_dump` would show. */
export interface Translation {
  readonly resources: Readonly<Record<string, readonly unknown[]>>;
  /** With positions in the files. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface TranslateOptions {
  /** Shows private keys and the generated certificate as they are; for loading the output into an Envoy. */
  readonly reveal?: boolean;
  /** Where the proxy stands, which decides between endpoints with `--enable-topology-aware-routing`; default: nobody knows. */
  readonly zone?: string;
}

/** Kinds in the order in which they are shown: from the port to the pod. */
const SECTIONS = {
  listeners: 'envoy.config.listener.v3.Listener',
  extensions: 'envoy.config.core.v3.TypedExtensionConfig',
  scopes: 'envoy.config.route.v3.ScopedRouteConfiguration',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  secrets: 'envoy.extensions.transport_sockets.tls.v3.Secret',
} as const satisfies Record<string, MessageName>;

const GENERATED_PLACEHOLDER = '[generated at start]';

/** The command `translate`: the output to the standard output, Diagnostics to the standard error. Resolves with the exit code. */
export async function translate(args: TranslateArguments): Promise<number> {
  checkIngressArguments(args);
  checkHttp3OfProxy(args, args.proxy);
  checkSource(args);
  if (args.nginxTemplate !== undefined && args.proxy !== 'nginx') {
    throw new UsageError('--nginx-template needs --proxy nginx');
  }
  const { text, diagnostics } = args.proxy === 'nginx' ? await nginxOutput(args) : await envoyOutput(args);
  for (const diagnostic of diagnostics)
    process.stderr.write(`${diagnostic.severity}: ${describeDiagnostic(diagnostic)}\n`);
  process.stdout.write(text);
  return 0;
}

async function envoyOutput(args: TranslateArguments) {
  const { resources, diagnostics } = await translateManifests(args);
  return { text: args.output === 'json' ? json(resources) : stringify(resources, { lineWidth: 0 }), diagnostics };
}

async function nginxOutput(args: TranslateArguments) {
  const { translateToNginx } = await import('./translate-nginx.ts');
  const { text, config, diagnostics } = await translateToNginx(args);
  return { text: args.output === 'json' ? json(config) : text, diagnostics };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Manifests in, resources out; the same manifests give the same output, but for revealed generated keys. */
export async function translateManifests(
  args: SourceArguments & IngressArguments,
  options: TranslateOptions = {},
): Promise<Translation> {
  const generatedCertificate = await generateCertificate('ECDSA');
  const pipeline = createPipeline({
    build: translateBuildOptions(args, 'envoy', generatedCertificate, options.zone),
    emit: { ipv6: true, accessLog: args.accessLog, routeSharding: args.routeSharding },
  });
  const { store } = pipeline;
  const diagnostics = await runOnce(args, pipeline);
  const resources = Object.fromEntries(
    Object.entries(SECTIONS).flatMap(([section, message]) => {
      const view = store.view(`${typeUrlPrefix}${message}`);
      const names = [...view.names()].toSorted();
      // There are scopes only with --route-sharding.
      if (section === 'scopes' && names.length === 0) return [];
      return [[section, names.map((name) => shown(message, view.get(name)?.body() ?? new Uint8Array(), options))]];
    }),
  );
  return { resources, diagnostics };

  function shown(message: MessageName, bytes: Uint8Array, { reveal = false }: TranslateOptions): unknown {
    const json = toJson(message, bytes, { redact: !reveal });
    return reveal ? json : replaceText(json, Buffer.from(generatedCertificate.chain).toString('base64'));
  }
}

/** The generated certificate is new at every start, so it is not shown. */
function replaceText(value: unknown, text: string): unknown {
  if (value === text) return GENERATED_PLACEHOLDER;
  if (Array.isArray(value)) return value.map((item) => replaceText(item, text));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceText(item, text)]));
}
