#!/usr/bin/env node
import { existsSync } from 'node:fs';
// A whole module, since a Node that is too old has no such export, and is to say what it is.
import nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import yargs, { type Argv } from 'yargs';
import { cacheFolder } from '../envoy/cache-folder.ts';
import type { CheckArguments } from './check.ts';
import type { CompareArguments } from './compare.ts';
import type { DrainArguments } from './drain-command.ts';
import { argumentsFrom, flagWarnings } from './flags/arguments.ts';
import { spellFlags } from './flags/spelling.ts';
import { type Command, commandsWith, flagsOf } from './flags/table.ts';
import {
  type BootstrapArguments,
  ConfigurationError,
  type ControlPlaneArguments,
  type InspectArguments,
  type NginxArguments,
  type RunArguments,
  type ServeArguments,
  UsageError,
  type WaitShutdownArguments,
} from './flags.ts';
import { createRuntimeFolder, removeRuntimeFolder } from './runtime-folder.ts';
import type { TranslateArguments } from './translate.ts';
import { version } from './version.ts';
import type { CertsArguments } from './xds-tls.ts';

/** Exit codes: 0 ended as asked, 1 failed, 2 flags or arguments that cannot be. */
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** What only prints, and so may end when nobody reads on; what serves must not. */
const PRINTING: ReadonlySet<string> = new Set([
  'bootstrap',
  'certs',
  'check',
  'compare',
  'completion',
  'inspect',
  'translate',
]);

interface CommandDeclaration {
  /** Absent: it is not shown. */
  readonly description?: string;
  /** Whose flags it takes; default: its own. */
  readonly flagsOf?: Command;
  /** What follows its name. */
  readonly synopsis?: string;
  /** What cannot be declared as a flag. */
  readonly prepare?: (command: Argv) => Argv;
  /** Arguments → what they do. */
  readonly examples?: Readonly<Record<string, string>>;
  /**
   * Resolves with the exit code.
   * @param args as the types of `ArgumentsOf` say.
   * @param flags in one spelling.
   */
  readonly run: (args: unknown, flags: readonly string[]) => number | Promise<number>;
}

const COMMANDS: Readonly<Record<string, CommandDeclaration>> = {
  run: {
    description: 'Serve a cluster, or a folder of manifests: control plane and Envoy in one process tree',
    examples: {
      '--manifests deploy --echo --http-port 8080 --https-port 8443': 'try manifests without a cluster',
      '--manifests deploy --endpoint shop/web:http=127.0.0.1:3000': 'a Service that runs on this machine',
    },
    run: async (args, flags) => {
      const { run } = await import('./run.ts');
      await warn(args as RunArguments, 'run', flags);
      return await run(args as RunArguments, flags);
    },
  },
  'control-plane': {
    flagsOf: 'run',
    run: async (args) => {
      const { runControlPlane } = await import('./control-plane.ts');
      return await runControlPlane(args as RunArguments);
    },
  },
  nginx: {
    description: 'Serve a cluster, or a folder of manifests, with nginx instead of Envoy',
    examples: {
      '--manifests deploy --echo --http-port 8080 --https-port 8443': 'try manifests without a cluster',
      '--manifests deploy --nginx-template nginx.conf.eta': 'with a configuration of your own',
    },
    run: async (args, flags) => {
      const { nginx } = await import('./nginx.ts');
      await warn(args as NginxArguments, 'nginx', flags);
      return await nginx(args as NginxArguments, flags);
    },
  },
  'nginx-control-plane': {
    flagsOf: 'nginx',
    run: async (args) => {
      const { runNginxControlPlane } = await import('./nginx-control-plane.ts');
      return await runNginxControlPlane(args as NginxArguments);
    },
  },
  serve: {
    description: 'Serve a cluster, or a folder of manifests, to Envoys that run elsewhere: the control plane alone',
    examples: {
      '--manifests deploy --xds-address unix:/run/ingress-xds/xds.sock': 'Envoys on this machine',
      '--manifests deploy --xds-address 127.0.0.1:18000': 'without private keys, for inspection',
    },
    run: async (args, flags) => {
      const { serve } = await import('./serve.ts');
      await warn(args as ServeArguments, 'serve', flags);
      return await findable(() => serve(args as ServeArguments));
    },
  },
  bootstrap: {
    description: 'Print the bootstrap of an Envoy that connects to serve',
    examples: {
      '--xds-address unix:/run/ingress-xds/xds.sock > envoy.yaml': 'a gateway',
      '--role sidecar > envoy.yaml && envoy -c envoy.yaml': 'beside a control plane',
    },
    run: async (args) => {
      const { bootstrap } = await import('./bootstrap-command.ts');
      return bootstrap(args as BootstrapArguments);
    },
  },
  inspect: {
    description: 'Show what a running control plane has and who is connected; keys are redacted',
    synopsis: '<what> [type] [name]',
    prepare: (command) =>
      command
        .positional('what', { choices: ['resources', 'streams'], describe: 'What to show' })
        .positional('type', { type: 'string', describe: 'listeners, routes, clusters, endpoints, secrets, …' })
        .positional('name', { type: 'string', describe: 'One resource, whole' }),
    examples: {
      'resources routes https': 'the route table of HTTPS',
      streams: 'the Envoys that are connected',
    },
    run: async (args) => {
      const { inspect } = await import('./inspect.ts');
      return await inspect(args as InspectArguments);
    },
  },
  translate: {
    description: 'Print the Envoy resources that a folder of manifests becomes',
    examples: { '--manifests deploy': 'for review', '--manifests deploy --output json': 'for programs' },
    run: async (args) => {
      const { translate } = await import('./translate.ts');
      return await translate(args as TranslateArguments);
    },
  },
  check: {
    description: 'Say what becomes of Ingresses and of the ConfigMap, annotation by annotation, before anything runs',
    examples: {
      '--manifests deploy': 'a folder',
      '--manifests - < ingresses.yaml':
        'what another program prints, such as kubectl get ingress,service,configmap -A -o yaml',
      '--configmap ingress-nginx/ingress-nginx-controller': 'the cluster of your kubeconfig, which is only read',
      '--manifests deploy --output sarif > ingress.sarif': 'for a code host',
    },
    run: async (args) => {
      const { check } = await import('./check.ts');
      return await check(args as CheckArguments);
    },
  },
  compare: {
    description: 'Send the same requests to two proxies and show where their answers differ',
    synopsis: '<first> <second>',
    prepare: (command) =>
      command
        .positional('first', { type: 'string', describe: 'http://HOST:PORT or https://HOST:PORT' })
        .positional('second', { type: 'string', describe: 'The other one' }),
    examples: {
      'https://10.0.0.1 https://10.0.0.2 --access-log access.log --host shop.example.com --insecure':
        'what users have asked of ingress-nginx, before its address moves',
      'http://127.0.0.1:8080 http://127.0.0.1:9080 --requests requests.txt': 'requests of your own',
    },
    run: async (args) => {
      const { compare } = await import('./compare.ts');
      return await compare(args as CompareArguments);
    },
  },
  certs: {
    description: 'Make or renew the certificates for mutual TLS between Envoys and serve',
    examples: {
      '--out pki --dns-name xds.example.com': 'for machines; run it again to renew',
      '--output secret --namespace edge | kubectl apply -f -': 'for a cluster',
      '--apply': 'from a Job in the cluster',
    },
    run: async (args) => {
      const { certs } = await import('./certs.ts');
      return await certs(args as CertsArguments);
    },
  },
  drain: {
    description:
      'Empty an Envoy that another program has started, for a preStop hook: returns when nobody is connected',
    examples: { '--admin-socket /run/ingress-xds/admin.sock --shutdown-grace-period 10': 'behind a load balancer' },
    run: async (args) => {
      const { drain } = await import('./drain-command.ts');
      return await drain(args as DrainArguments);
    },
  },
  'wait-shutdown': {
    description: 'End the control plane of this container, and wait until its proxy has ended: for a preStop hook',
    run: async (args) => {
      const { waitShutdown } = await import('./wait-shutdown.ts');
      return await waitShutdown(args as WaitShutdownArguments);
    },
  },
};

/** Old images start programs of these names. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'ingress-xds': [],
  'nginx-ingress-controller': [],
  'wait-shutdown': ['wait-shutdown'],
};

export async function main(argv: readonly string[]): Promise<number> {
  let code = 0;
  try {
    const args = spelt(withDefaultCommand(argv));
    const parser = (yargs([]) as Argv)
      .scriptName('ingress-xds')
      .usage('$0 COMMAND [FLAGS]\n\nServes standard Kubernetes Ingress objects with Envoy. Without a command: run.')
      .parserConfiguration({ 'greedy-arrays': false, 'boolean-negation': false, 'dot-notation': false });
    for (const [name, command] of Object.entries(COMMANDS)) {
      const flags = flagsOf(command.flagsOf ?? (name as Command));
      parser.command(
        [name, command.synopsis].filter((part) => part !== undefined).join(' '),
        command.description ?? (false as never),
        (builder) => {
          for (const [example, effect] of Object.entries(command.examples ?? {})) {
            builder.example(`$0 ${name} ${example}`, effect);
          }
          return (command.prepare?.(builder) ?? builder).options(flags).strict();
        },
        async (parsed) => {
          code = await command.run(argumentsFrom(parsed, flags), args.slice(1));
        },
      );
    }
    await parser
      .completion('completion', 'Print a script that completes commands and flags in bash or zsh')
      .demandCommand(1)
      .strict()
      .version(version())
      .alias('help', 'h')
      .wrap(Math.min(120, process.stdout.columns ?? 100))
      .exitProcess(false)
      .fail((message, error) => {
        throw error ?? new UsageError(explain(message, args[0]));
      })
      .parseAsync(args);
    return code;
  } catch (error) {
    return report(error);
  }
}

/** The parser counts missing arguments; people want to know which. */
function explain(message: string, name = ''): string {
  const synopsis = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.synopsis : undefined;
  if (synopsis === undefined || !message.startsWith('Not enough non-option arguments')) return message;
  return `arguments are missing: ingress-xds ${name} ${synopsis}`;
}

/** Arguments that begin with a flag mean `run`, so that a Deployment of ingress-nginx needs no other arguments. */
function withDefaultCommand(argv: readonly string[]): string[] {
  const [first = ''] = argv;
  // The old image was started with the path of its binary as first argument.
  const command = Object.hasOwn(COMMANDS, first) ? undefined : PROGRAMS[basename(first)];
  const rest = command === undefined ? [...argv] : [...command, ...argv.slice(1)];
  const asksForHelp = rest.some((argument) =>
    ['--help', '-h', '--version', '--get-yargs-completions'].includes(argument),
  );
  const hasCommand = rest[0] !== undefined && !rest[0].startsWith('-');
  return hasCommand || asksForHelp ? rest : ['run', ...rest];
}

/** Arguments with the flags of their command in one spelling. */
function spelt(args: readonly string[]): string[] {
  const [name = '', ...rest] = args;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined || rest.includes('--get-yargs-completions')) return [...args];
  return [name, ...spellFlags(rest, { flags: flagsOf(command.flagsOf ?? (name as Command)), commandsWith })];
}

/** Says which flags do not do what they say: once, because the children of `run` do not. */
async function warn(args: ControlPlaneArguments, command: Command, flags: readonly string[]): Promise<void> {
  const warnings = flagWarnings(flags, flagsOf(command));
  if (warnings.length === 0) return;
  const { createLogger } = await import('./logger.ts');
  const logger = createLogger(args);
  for (const warning of warnings) logger.warn(warning);
}

/** Runs what `wait-shutdown` is to find; where no folder can be made, it is not found. */
async function findable(work: () => Promise<number>): Promise<number> {
  const paths = await createRuntimeFolder(tmpdir()).catch(() => undefined);
  try {
    return await work();
  } finally {
    if (paths !== undefined) await removeRuntimeFolder(paths);
  }
}

function report(error: unknown): number {
  if (error instanceof UsageError || (error instanceof Error && error.name === 'YError')) {
    const message = error.message.replace(/:?\s*\n\s*/g, ': ');
    process.stderr.write(`ingress-xds: ${message} (see ingress-xds --help)\n`);
    return EXIT_USAGE;
  }
  process.stderr.write(`ingress-xds: ${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof ConfigurationError ? EXIT_USAGE : EXIT_FAILED;
}

/** What Node makes of the modules that commands load, in a folder of the user's own. */
function keepCompiledModules(folder: string): void {
  // Node would try for ever to make one below /proc (seen with 24.21).
  if (existsSync(folder)) nodeModule.enableCompileCache(join(folder, 'modules'));
}

// Only a Node that is too old does not know whether this is the main module; without a word it would do nothing, and succeed.
if (import.meta.main === undefined) {
  process.stderr.write(`ingress-xds: Node ${process.version} is too old (package.json says which is needed)\n`);
  process.exitCode = EXIT_FAILED;
}

if (import.meta.main) {
  keepCompiledModules(cacheFolder(process.env));
  if (PRINTING.has(process.argv[2] ?? '')) {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      // As in `translate | head`.
      if (error.code === 'EPIPE') process.exit(0);
      process.stderr.write(`ingress-xds: The standard output cannot be written: ${error.message}\n`);
      process.exit(EXIT_FAILED);
    });
  }
  process.exitCode = await main(process.argv.slice(2));
  // A failure in the middle may leave servers and channels open that would keep the process alive; but a pipe takes its time.
  if (process.exitCode !== 0) process.stdout.write('', () => process.exit());
}
