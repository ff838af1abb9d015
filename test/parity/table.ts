import type { BuildOptions } from '../../src/ingress/build.ts';
import type { Case } from '../envoy/behaviour/cases.ts';
import type { DnsServer } from '../support/dns-server.ts';
import type { Gateway } from '../support/gateway.ts';
import type { Manifest } from '../support/manifests.ts';
import type { DifferenceName } from './differences.ts';

/** Rows by what they show, and the world that they are asked in. */
export interface Table<Title extends string = string> {
  /** Starts the backends; the manifests lead to them. */
  start(): Promise<World>;
  readonly groups: Readonly<Record<Title, readonly Case[]>>;
  readonly exchanges?: readonly Exchange[];
}

export interface World {
  readonly manifests: readonly Manifest[];
  readonly build?: Partial<BuildOptions>;
  /** That answers for the names of ExternalName Services. */
  readonly dns?: DnsServer;
  /** Whether the proxies write an access log, which `Ports.accessLog` reads. */
  readonly accessLog?: true;
  close(): Promise<void>;
}

export interface Ports extends Pick<Gateway, 'httpPort' | 'httpsPort'> {
  /** What the access log holds so far; only of a world with one. */
  readonly accessLog?: () => string;
}

/** What is more than one request with its answer. */
export interface Exchange {
  readonly title: string;
  /** Resolves with what was seen, without what differs each time. */
  readonly run: (ports: Ports) => Promise<unknown>;
  readonly expected: unknown;
  readonly differs?: DifferenceName;
  /** What nginx does, where it differs. */
  readonly nginx?: unknown;
  /** What nginx does without its Lua module, where that is needed. */
  readonly withoutLua?: unknown;
}

/** Keeps the titles as types, so that a test cannot ask for a group that is not there. */
export function table<Title extends string>(parts: Table<Title>): Table<Title> {
  return parts;
}
