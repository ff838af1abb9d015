/** All flags of all commands. What is not here is not accepted. */
import { certsFlags } from '../xds-tls.ts';
import type { Flag, Flags } from './flag.ts';
import { ingressFlags, routingFlags } from './ingress-flags.ts';
import { formerFlags, klogFlags, metricsFlags, nginxFlags, reloadFlags } from './nginx-flags.ts';
import { nginxModeFlags } from './nginx-mode-flags.ts';
import { controlPlaneFlags, envoyFlags } from './process-flags.ts';
import { clusterFlags, echoFlags, sourceFlags } from './source-flags.ts';
import { statusFlags, webhookFlags } from './status-flags.ts';
import {
  bootstrapFlags,
  checkFlags,
  compareFlags,
  drainFlags,
  inspectFlags,
  serveFlags,
  translateFlags,
  waitShutdownFlags,
} from './tool-flags.ts';

export const commands = [
  'run',
  'nginx',
  'serve',
  'translate',
  'check',
  'compare',
  'bootstrap',
  'certs',
  'inspect',
  'drain',
  'wait-shutdown',
] as const;

export type Command = (typeof commands)[number];

interface FlagGroup {
  readonly title: string;
  readonly commands: readonly Command[];
  readonly flags: Flags;
}

const controlPlanes = ['run', 'nginx', 'serve'] as const;

/** In the order in which `--help` and docs/flags.md show them. */
export const flagGroups: readonly FlagGroup[] = [
  { title: 'Manifests', commands: [...controlPlanes, 'translate', 'check'], flags: sourceFlags },
  { title: 'Manifests', commands: controlPlanes, flags: echoFlags },
  { title: 'Cluster', commands: [...controlPlanes, 'check'], flags: clusterFlags },
  { title: 'Ingresses', commands: [...controlPlanes, 'translate', 'check'], flags: ingressFlags },
  { title: 'Ingresses', commands: controlPlanes, flags: routingFlags },
  { title: 'Status, events and leader election', commands: controlPlanes, flags: statusFlags },
  { title: 'Webhook', commands: controlPlanes, flags: webhookFlags },
  { title: 'Health and log', commands: controlPlanes, flags: controlPlaneFlags },
  { title: 'Envoy', commands: ['run'], flags: envoyFlags },
  { title: 'nginx', commands: ['nginx'], flags: nginxModeFlags },
  { title: 'Metrics of requests', commands: controlPlanes, flags: metricsFlags },
  { title: 'nginx', commands: ['run', 'serve'], flags: reloadFlags },
  { title: 'nginx', commands: controlPlanes, flags: nginxFlags },
  { title: 'klog', commands: controlPlanes, flags: klogFlags },
  { title: 'Former flags of ingress-nginx', commands: controlPlanes, flags: formerFlags },
  { title: 'xDS server', commands: ['serve'], flags: serveFlags },
  { title: 'translate', commands: ['translate'], flags: translateFlags },
  { title: 'check', commands: ['check'], flags: checkFlags },
  { title: 'compare', commands: ['compare'], flags: compareFlags },
  { title: 'bootstrap', commands: ['bootstrap'], flags: bootstrapFlags },
  { title: 'certs', commands: ['certs'], flags: certsFlags },
  { title: 'inspect', commands: ['inspect'], flags: inspectFlags },
  { title: 'drain', commands: ['drain'], flags: drainFlags },
  { title: 'wait-shutdown', commands: ['wait-shutdown'], flags: waitShutdownFlags },
];

/** The flags of one command by their names; no two groups of a command share a name. */
export function flagsOf(command: Command): Readonly<Record<string, Flag>> {
  return Object.fromEntries(
    flagGroups
      .filter((group) => group.commands.includes(command))
      .flatMap(({ title, flags }) =>
        Object.entries(flags).map(([name, flag]) => [name, { ...flag, ...shownIn(title, flag) }]),
      ),
  );
}

/** `--help` shows what does something; docs/flags.md shows all. */
function shownIn(title: string, flag: Flag): Partial<Flag> {
  const silent = flag.withoutMeaning !== undefined || flag.refused !== undefined;
  return silent ? { hidden: true } : { group: `${title}:` };
}

/** The commands that have a flag of this name. */
export function commandsWith(name: string): Command[] {
  return commands.filter((command) =>
    flagGroups.some((group) => group.commands.includes(command) && Object.hasOwn(group.flags, name)),
  );
}
