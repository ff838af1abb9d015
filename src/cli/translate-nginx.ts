import type { Diagnostic } from '../model/diagnostic.ts';
import type { Certificate } from '../model/proxy-model.ts';
import { backendSecretFiles, certificateFile, type FileContent } from '../nginx/certificate-file.ts';
import type { NginxConfig } from '../nginx/config.ts';
import { createNginxEmitter, NGINX, type NginxEmitOptions, type NginxEmitter } from '../nginx/emit.ts';
import { TemplateError } from '../nginx/template.ts';
import { builtInTemplate, userTemplate } from '../nginx/template-files.ts';
import { ConfigurationError, type IngressArguments, type SourceArguments } from './flags.ts';
import { generateCertificate } from './generated-certificate.ts';
import { createLoop } from './loop.ts';
import { runOnce, translateBuildOptions } from './run-once.ts';

export interface NginxTranslation {
  /** nginx.conf */
  readonly text: string;
  /** What the template saw. */
  readonly config: NginxConfig;
  /** By file: the certificates that the configuration may name. */
  readonly certificates: ReadonlyMap<string, Certificate>;
  /** By file: what it may name for TLS to backends. */
  readonly backendFiles: ReadonlyMap<string, FileContent>;
  /** With positions in the files. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface NginxTranslateOptions {
  /** The nginx that is to read it; default: a recent one without Lua, so that all addresses and certificates stand there. */
  readonly emit?: Omit<NginxEmitOptions, 'ipv6'>;
  /** Where the proxy stands, which decides between endpoints with `--enable-topology-aware-routing`. */
  readonly zone?: string;
}

const FOLDER = '/run/ingress-xds';

/** A recent one without Lua, so that all addresses and certificates stand in its configuration. */
export const SOME_NGINX: NonNullable<NginxTranslateOptions['emit']> = {
  nginx: {
    modules: [],
    hasStream: true,
    hasBrotli: true,
    hasStreamRealIp: true,
    hasStreamPreread: true,
    hasHttp2Directive: true,
  },
  accessLog: '/dev/stdout',
  dynamic: false,
  luaFolder: `${FOLDER}/lua`,
  folder: FOLDER,
  resolvers: ['10.96.0.10'],
};

/** Manifests in, nginx.conf out; the same manifests give the same output. It names certificates by the hash of their content. */
export async function translateToNginx(
  args: SourceArguments & IngressArguments & { readonly nginxTemplate?: string },
  { emit = SOME_NGINX, zone }: NginxTranslateOptions = {},
): Promise<NginxTranslation> {
  const generated = await generateCertificate('ECDSA');
  const { accessLog, ...others } = emit;
  const options = { ...others, ipv6: true, ...(args.accessLog && accessLog !== undefined && { accessLog }) };
  let emitter: NginxEmitter | undefined;
  const loop = createLoop({
    build: translateBuildOptions(args, 'nginx', generated, zone),
    publisher: (engine, model) => {
      emitter = createNginxEmitter(engine, model, options);
      return { diagnosticTables: emitter.diagnosticTables, publish: publishNothing };
    },
  });
  const diagnostics = await runOnce(args, loop);
  const config = emitter?.config.get(NGINX);
  if (emitter === undefined || config === undefined) throw new Error('there is always a configuration');
  const { folder } = emit;
  // The generated certificate is new at every start.
  const hashed = certificateFile(folder, { ...generated, chain: Buffer.from(generated.chain) });
  const placeholder = `${folder}/certificates/generated-at-start.pem`;
  const named = (file: string) => (file === hashed ? placeholder : file);
  const { settings, servers } = config;
  const shown = {
    ...config,
    settings: { ...settings, defaultCertificate: named(settings.defaultCertificate) },
    servers: servers.map((server) =>
      server.certificate === undefined ? server : { ...server, certificate: named(server.certificate) },
    ),
  };
  const certificates = new Map(
    [...emitter.certificates.keys()].flatMap((name) => {
      const certificate = emitter?.certificates.get(name);
      return certificate === undefined ? [] : [[named(certificateFile(folder, certificate)), certificate] as const];
    }),
  );
  const backendFiles = new Map(
    [...emitter.backendSecrets.keys()].flatMap((key) => {
      const secret = emitter?.backendSecrets.get(key);
      return secret === undefined ? [] : [...backendSecretFiles(folder, secret)];
    }),
  );
  try {
    const template = args.nginxTemplate === undefined ? builtInTemplate() : userTemplate(args.nginxTemplate);
    return { text: template.render(shown), config: shown, certificates, backendFiles, diagnostics };
  } catch (error) {
    if (error instanceof TemplateError) throw new ConfigurationError(`--nginx-template: ${error.message}`);
    throw error;
  }
}

// biome-ignore lint/correctness/useYield: what is published is the whole, at the end.
function* publishNothing(): Generator<void, undefined> {
  return undefined;
}
