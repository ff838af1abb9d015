#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import yargs, { type Argv, type Options } from 'yargs';
import { spellBooleans } from './boolean-flags.ts';
import {
  type BootstrapArguments,
  bootstrapFlags,
  ConfigurationError,
  controlPlaneFlags,
  type InspectArguments,
  ingressFlags,
  inspectFlags,
  type RunArguments,
  runFlags,
  type ServeArguments,
  serveFlags,
  sourceFlags,
  UsageError,
} from './flags.ts';
import type { TranslateArguments } from './translate.ts';
import { type CertsArguments, certsFlags } from './xds-tls.ts';

/** Exit codes: 0 ended as asked, 1 failed, 2 flags or arguments that cannot be. */
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const BOOLEANS: ReadonlySet<string> = new Set(
  Object.entries({
    ...sourceFlags,
    ...ingressFlags,
    ...runFlags,
    ...serveFlags,
    ...bootstrapFlags,
    ...certsFlags,
  } satisfies Record<string, Options>).flatMap(([name, flag]) =>
    'type' in flag && flag.type === 'boolean' ? [name] : [],
  ),
);

const COMMANDS = new Set(['run', 'serve', 'bootstrap', 'inspect', 'translate', 'certs', 'control-plane']);

export async function main(argv: readonly string[]): Promise<number> {
  let code = 0;
  const args = withDefaultCommand(argv);
  const parser = (yargs([]) as Argv)
    .scriptName('ingress-xds')
    .usage('$0 COMMAND [FLAGS]\n\nServes standard Kubernetes Ingress objects with Envoy. Without a command: run.')
    .parserConfiguration({ 'greedy-arrays': false, 'boolean-negation': false, 'dot-notation': false })
    .command(
      'run',
      'Serve a folder of manifests: control plane and Envoy in one process tree',
      (command) =>
        withFlags(command, { ...sourceFlags, ...ingressFlags, ...runFlags })
          .example(
            '$0 run --manifests deploy --echo --http-port 8080 --https-port 8443',
            'try manifests without a cluster',
          )
          .example(
            '$0 run --manifests deploy --endpoint shop/web:http=127.0.0.1:3000',
            'a Service that runs on this machine',
          ),
      async (parsed) => {
        const { run } = await import('./run.ts');
        code = await run(normalize(parsed) as unknown as RunArguments, args.slice(1));
      },
    )
    .command(
      'control-plane',
      false,
      (command) => withFlags(command, { ...sourceFlags, ...ingressFlags, ...runFlags }),
      async (parsed) => {
        const { runControlPlane } = await import('./control-plane.ts');
        code = await runControlPlane(normalize(parsed) as unknown as RunArguments);
      },
    )
    .command(
      'serve',
      'Serve a folder of manifests to Envoys that run elsewhere: the control plane alone',
      (command) =>
        withFlags(command, { ...sourceFlags, ...ingressFlags, ...controlPlaneFlags, ...serveFlags })
          .example('$0 serve --manifests deploy --xds-address unix:/run/ingress-xds/xds.sock', 'Envoys on this machine')
          .example('$0 serve --manifests deploy --xds-address 127.0.0.1:18000', 'without private keys, for inspection'),
      async (parsed) => {
        const { serve } = await import('./serve.ts');
        const lists = [...Object.keys(sourceFlags), 'xdsAddress', 'xdsClient'];
        code = await serve(normalize(parsed, lists) as unknown as ServeArguments);
      },
    )
    .command(
      'bootstrap',
      'Print the bootstrap of an Envoy that connects to serve',
      (command) =>
        withFlags(command, bootstrapFlags)
          .example('$0 bootstrap --xds-address unix:/run/ingress-xds/xds.sock > envoy.yaml', 'a gateway')
          .example('$0 bootstrap --role sidecar > envoy.yaml && envoy -c envoy.yaml', 'beside a control plane'),
      async (parsed) => {
        const { bootstrap } = await import('./bootstrap-command.ts');
        code = bootstrap(normalize(parsed) as unknown as BootstrapArguments);
      },
    )
    .command(
      'inspect <what> [type] [name]',
      'Show what a running control plane has and who is connected; keys are redacted',
      (command) =>
        withFlags(command, inspectFlags)
          .positional('what', { choices: ['resources', 'streams'], describe: 'What to show' })
          .positional('type', { type: 'string', describe: 'listeners, routes, clusters, endpoints, secrets, …' })
          .positional('name', { type: 'string', describe: 'One resource, whole' })
          .example('$0 inspect resources routes https', 'the route table of HTTPS')
          .example('$0 inspect streams', 'the Envoys that are connected'),
      async (parsed) => {
        const { inspect } = await import('./inspect.ts');
        code = await inspect(normalize(parsed) as unknown as InspectArguments);
      },
    )
    .command(
      'translate',
      'Print the Envoy resources that a folder of manifests becomes',
      (command) =>
        withFlags(command, {
          ...sourceFlags,
          ...ingressFlags,
          output: { choices: ['yaml', 'json'], default: 'yaml', requiresArg: true, describe: 'Form of the output' },
        })
          .example('$0 translate --manifests deploy', 'for review')
          .example('$0 translate --manifests deploy --output json', 'for programs'),
      async (parsed) => {
        const { translate } = await import('./translate.ts');
        code = await translate(normalize(parsed) as unknown as TranslateArguments);
      },
    )
    .command(
      'certs',
      'Make or renew the certificates for mutual TLS between Envoys and serve',
      (command) =>
        withFlags(command, certsFlags)
          .example('$0 certs --out pki --dns-name xds.example.com', 'for machines; run it again to renew')
          .example('$0 certs --output secret --namespace edge | kubectl apply -f -', 'for a cluster')
          .example('$0 certs --apply', 'from a Job in the cluster'),
      async (parsed) => {
        const { certs } = await import('./certs.ts');
        code = await certs(normalize(parsed, ['dnsName', 'client']) as unknown as CertsArguments);
      },
    )
    .completion('completion', 'Print a script that completes commands and flags in bash or zsh')
    .demandCommand(1)
    .strict()
    .version(version())
    .alias('help', 'h')
    .wrap(Math.min(120, process.stdout.columns ?? 100))
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new UsageError(message);
    });
  try {
    await parser.parseAsync(spellBooleans(args, BOOLEANS));
    return code;
  } catch (error) {
    return report(error);
  }
}

/** Arguments that begin with a flag mean `run`, so that a Deployment of ingress-nginx needs no other arguments. */
function withDefaultCommand(argv: readonly string[]): string[] {
  const [first] = argv;
  // The old image was started with the path of its binary as first argument.
  const rest =
    first !== undefined && /(^|\/)(nginx-ingress-controller|ingress-xds)$/.test(first) ? argv.slice(1) : argv;
  const asksForHelp = rest.some((argument) =>
    ['--help', '-h', '--version', '--get-yargs-completions'].includes(argument),
  );
  const hasCommand = rest[0] !== undefined && (COMMANDS.has(rest[0]) || !rest[0].startsWith('-'));
  return hasCommand || asksForHelp ? [...rest] : ['run', ...rest];
}

function withFlags(command: Argv, flags: Readonly<Record<string, Options>>): Argv {
  return command.options(flags).strict();
}

/** A flag that is given twice counts as given last, as in the flag library of ingress-nginx; lists stay lists. */
function normalize(
  args: Readonly<Record<string, unknown>>,
  lists: readonly string[] = Object.keys(sourceFlags),
): Record<string, unknown> {
  const entries = Object.entries(args).map(([name, value]) => [
    name,
    Array.isArray(value) && !lists.includes(name) ? value.at(-1) : value,
  ]);
  return { manifests: [], endpoint: [], ...Object.fromEntries(entries.filter(([, value]) => value !== undefined)) };
}

function report(error: unknown): number {
  if (error instanceof UsageError || (error instanceof Error && error.name === 'YError')) {
    process.stderr.write(`ingress-xds: ${oneLine(error.message)} (see ingress-xds --help)\n`);
    return EXIT_USAGE;
  }
  process.stderr.write(`ingress-xds: ${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof ConfigurationError ? EXIT_USAGE : EXIT_FAILED;
}

/** A message of the parser in one line; it names unknown flags a second time in camelCase, as nobody writes them. */
function oneLine(message: string): string {
  const line = message.replace(/:?\s*\n\s*/g, ': ');
  const [, names] = /^Unknown arguments?: (.*)$/.exec(line) ?? [];
  if (names === undefined) return line;
  const written = names
    .split(', ')
    .filter((name, _, all) => !all.some((other) => other !== name && camel(other) === name));
  return `Unknown argument${written.length > 1 ? 's' : ''}: ${written.join(', ')}`;
}

function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2));
  // A failure in the middle may leave servers and channels open that would keep the process alive.
  if (process.exitCode !== 0) process.exit();
}
