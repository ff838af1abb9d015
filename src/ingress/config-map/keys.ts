/** Every key of the ConfigMap (`--configmap`). A key stands in the file of what it is about. */
import type { ConfigMapKey, KeyValues } from '../declaration/config-map-key.ts';
import { acceptanceKeys } from './acceptance.ts';
import { accessKeys } from './access.ts';
import { answerRewriteKeys } from './answer-rewrites.ts';
import { bodyKeys } from './bodies.ts';
import { clientConnectionKeys } from './client-connections.ts';
import { compressionKeys } from './compression.ts';
import { errorPageKeys } from './error-pages.ts';
import { firewallKeys } from './firewall.ts';
import { forwardingKeys } from './forwarding.ts';
import { globalAuthKeys } from './global-auth.ts';
import { headerKeys } from './headers.ts';
import { listenerKeys } from './listeners.ts';
import { loadBalancingKeys } from './load-balancing.ts';
import { logKeys } from './logs.ts';
import { nginxTuningKeys } from './nginx-tuning.ts';
import { rateLimitKeys } from './rate-limits.ts';
import { redirectKeys } from './redirects.ts';
import { requestHeaderKeys } from './request-headers.ts';
import { retryKeys } from './retries.ts';
import { streamKeys } from './streams.ts';
import { tlsKeys } from './tls.ts';
import { tracingKeys } from './tracing.ts';
import { upstreamKeys } from './upstream.ts';

/** By the heading of their part of the documentation. */
const keysByTitle = {
  'Access to backends': accessKeys,
  'Addresses in answers of backends': answerRewriteKeys,
  'Bodies of requests and answers': bodyKeys,
  'Choice of endpoints': loadBalancingKeys,
  'Connections of clients': clientConnectionKeys,
  Compression: compressionKeys,
  'Connections to backends': upstreamKeys,
  'Error pages': errorPageKeys,
  'External authentication': globalAuthKeys,
  Firewall: firewallKeys,
  Headers: headerKeys,
  Forwarding: forwardingKeys,
  Ports: listenerKeys,
  'nginx itself': nginxTuningKeys,
  Logs: logKeys,
  'Rate limits': rateLimitKeys,
  Redirects: redirectKeys,
  'Requests of clients': requestHeaderKeys,
  Retries: retryKeys,
  'TCP and UDP services': streamKeys,
  'TLS with clients': tlsKeys,
  Tracing: tracingKeys,
  'Which Ingresses are taken': acceptanceKeys,
};

type AllKeys = Merged<(typeof keysByTitle)[keyof typeof keysByTitle]>;

/** All members of a union in one. */
type Merged<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer All) => void ? All : never;

export type ConfigMapKeyName = keyof AllKeys & string;

/** What the ConfigMap says: of every key its value, or its default. */
export type ConfigMapValues = KeyValues<AllKeys>;

export interface ConfigMapGroup {
  readonly title: string;
  /** By name. */
  readonly keys: Readonly<Record<string, ConfigMapKey>>;
}

export const configMapGroups = Object.entries(keysByTitle).map(([title, keys]) => ({
  title,
  keys,
})) as unknown as readonly ConfigMapGroup[];

/** By name. */
export const configMapKeys = Object.assign({}, ...Object.values(keysByTitle)) as Readonly<
  Record<ConfigMapKeyName, ConfigMapKey>
>;
