/**
 * The HTTP filters, in the order in which a request meets them. This is the only list: a filter that is configured per route
 * must stand here, since Envoy ignores, without a word, per-route configuration for a filter that is not in the chain.
 *
 * Whatever stands here is part of the listeners: a change drains their connections. What changes at run time must be
 * configured per route or be delivered as a resource of its own (ECDS).
 */
import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../gen/messages.ts';
import type { ProxySettings, RequestLog } from '../model/settings.ts';
import { ADDRESS_LISTS } from './filters/address-lists.ts';
import { ANSWER_REWRITE } from './filters/answer-rewrite.ts';
import { BLOCKED_CLIENTS } from './filters/blocked-clients.ts';
import { BODY_SIZE_LIMIT } from './filters/body-size-limit.ts';
import { COMPRESSION } from './filters/compression.ts';
import { CORS } from './filters/cors.ts';
import { FORWARDED_HOST } from './filters/forwarded-host.ts';
import { HASH_KEY } from './filters/hash-key.ts';
import { loggedUser } from './filters/logged-user.ts';
import { MIRROR } from './filters/mirror.ts';
import { originalRequest } from './filters/original-request.ts';
import { PACE } from './filters/pace.ts';
import { REFUSAL_HEADERS } from './filters/refusal-headers.ts';
import { requestCheck } from './filters/request-check.ts';
import { router } from './filters/router.ts';
import { STATEFUL_SESSION } from './filters/stateful-session.ts';
import { traceFilters } from './filters/trace-context.ts';

/**
 * Behind the check of requests and what notes how they came. An answer goes the other way: what it holds is complete before it is
 * compressed, and it is compressed before its bytes are counted. Both stand in front, so that they see what other filters answer.
 */
const ALL_FILTERS: readonly HttpFilter[] = [
  REFUSAL_HEADERS,
  PACE,
  COMPRESSION,
  BLOCKED_CLIENTS,
  CORS,
  BODY_SIZE_LIMIT,
  ADDRESS_LISTS,
  HASH_KEY,
  STATEFUL_SESSION,
  FORWARDED_HOST,
  MIRROR,
  ANSWER_REWRITE,
];

/** @param log absent where nothing is written about requests */
export function httpFilters(settings: ProxySettings, log: RequestLog | undefined): readonly HttpFilter[] {
  const { trustsHeaders } = settings.forwarded;
  return [
    ...traceFilters(settings),
    ...loggedUser(log),
    requestCheck(settings),
    originalRequest(settings),
    ...ALL_FILTERS.filter((filter) => filter !== FORWARDED_HOST || trustsHeaders),
    router(settings),
  ];
}

/** Whether routes that say nothing about a filter are served without it. */
export function isOffByDefault(filter: string): boolean {
  return ALL_FILTERS.some(({ name, disabled }) => name === filter && disabled === true);
}

/**
 * The filters of an upgraded connection (WebSocket): all but those that take the bytes of both directions for a body. Whatever
 * protects a backend must stay.
 */
export function upgradeFilters(settings: ProxySettings, log: RequestLog | undefined): readonly HttpFilter[] {
  return httpFilters(settings, log).filter((filter) => !OF_BODIES.has(filter));
}

const OF_BODIES: ReadonlySet<HttpFilter> = new Set([PACE, COMPRESSION, BODY_SIZE_LIMIT]);
