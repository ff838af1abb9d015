/** Every table of cases for annotations and keys of the ConfigMap. */

import { acceptanceTables } from './acceptance.ts';
import { addressLists, addressListsOfConfigMap } from './address-lists.ts';
import {
  answerRewrites,
  answerRewritesDefault,
  answerRewritesOfAll,
  answerRewritesUnreadable,
} from './answer-rewrites.ts';
import { appRoot } from './app-root.ts';
import { backendProtocol } from './backend-protocol.ts';
import { backendTls, backendTlsAcrossNamespaces } from './backend-tls.ts';
import { blockedClients } from './blocked-clients.ts';
import { bodySize, bodySizeOfAll, bodySizeUnreadable } from './body-size.ts';
import { buffering, bufferingOfConfigMap } from './buffering.ts';
import { canaries } from './canaries.ts';
import { clientTlsDefault, clientTlsOfHosts, clientTlsOther, clientTlsSet, clientTlsUnreadable } from './client-tls.ts';
import { compressionTables } from './compression.ts';
import { connections } from './connections.ts';
import { cors } from './cors.ts';
import { customHeaders } from './custom-headers.ts';
import { defaultBackend } from './default-backend.ts';
import {
  forwardingDefault,
  forwardingForeignPeer,
  forwardingRealIp,
  forwardingTrusted,
  forwardingUnreadable,
  forwardingUnreadablePeers,
} from './forwarding.ts';
import { globalHeadersDefault, globalHeadersOff, globalHeadersSet, globalHeadersUnreadable } from './global-headers.ts';
import { httpsRedirect } from './https-redirect.ts';
import { leftovers } from './leftovers.ts';
import { loadBalancing, loadBalancingOfConfigMap } from './load-balancing.ts';
import { logTables } from './logs.ts';
import { mirror } from './mirror.ts';
import { names } from './names.ts';
import { nginxTuning } from './nginx-tuning.ts';
import { ocspBad, ocspOff, ocspOn } from './ocsp.ts';
import {
  passthrough,
  passthroughBehindBalancer,
  passthroughOfKnownNames,
  passthroughWithoutFlag,
} from './passthrough.ts';
import { portsDefault, portsSet, portsUnreadable } from './ports.ts';
import { proxyProtocol, proxyProtocolAndForwarding, proxyProtocolDefault } from './proxy-protocol.ts';
import { redirectSettings } from './redirect-settings.ts';
import { redirects } from './redirects.ts';
import { requestHeadersDefault, requestHeadersSet, requestHeadersUnreadable } from './request-headers.ts';
import { retries, retriesOfConfigMap } from './retries.ts';
import { rewrites } from './rewrites.ts';
import { serviceUpstream, serviceUpstreamOfConfigMap } from './service-upstream.ts';
import { sessionAffinity } from './session-affinity.ts';
import type { AnnotationTable } from './table.ts';
import { timeouts, timeoutsOfConfigMap } from './timeouts.ts';
import { tracingTables } from './tracing.ts';
import { upstreamHost } from './upstream-host.ts';

export const annotationTables: readonly AnnotationTable[] = [
  answerRewrites,
  answerRewritesDefault,
  answerRewritesOfAll,
  answerRewritesUnreadable,
  ...acceptanceTables,
  addressLists,
  ...addressListsOfConfigMap,
  appRoot,
  backendProtocol,
  backendTls,
  ...backendTlsAcrossNamespaces,
  ...blockedClients,
  bodySize,
  bodySizeOfAll,
  bodySizeUnreadable,
  buffering,
  ...bufferingOfConfigMap,
  canaries,
  ...compressionTables,
  ...connections,
  clientTlsDefault,
  clientTlsOfHosts,
  clientTlsOther,
  clientTlsSet,
  ocspBad,
  ocspOff,
  ocspOn,
  clientTlsUnreadable,
  cors,
  customHeaders,
  defaultBackend,
  forwardingDefault,
  forwardingForeignPeer,
  forwardingRealIp,
  forwardingTrusted,
  forwardingUnreadable,
  forwardingUnreadablePeers,
  globalHeadersDefault,
  globalHeadersOff,
  globalHeadersSet,
  globalHeadersUnreadable,
  httpsRedirect,
  leftovers,
  loadBalancing,
  ...loadBalancingOfConfigMap,
  mirror,
  names,
  ...nginxTuning,
  passthrough,
  passthroughBehindBalancer,
  passthroughOfKnownNames,
  passthroughWithoutFlag,
  portsDefault,
  portsSet,
  portsUnreadable,
  proxyProtocol,
  proxyProtocolAndForwarding,
  proxyProtocolDefault,
  redirects,
  ...redirectSettings,
  requestHeadersDefault,
  requestHeadersSet,
  requestHeadersUnreadable,
  retries,
  ...retriesOfConfigMap,
  rewrites,
  serviceUpstream,
  ...serviceUpstreamOfConfigMap,
  sessionAffinity,
  timeouts,
  ...timeoutsOfConfigMap,
  upstreamHost,
  ...logTables,
  ...tracingTables,
];
