/** Every feature that annotations ask for. A new one is a file beside this one, and a line here. */

import type { AnnotationFeature } from '../declaration/annotation.ts';
import { addressLists } from './address-lists.ts';
import { answerRewrites } from './answer-rewrites.ts';
import { appRoot } from './app-root.ts';
import { backendProtocol } from './backend-protocol.ts';
import { basicAuth } from './basic-auth.ts';
import { bodySize } from './body-size.ts';
import { buffering } from './buffering.ts';
import { canary } from './canary.ts';
import { clientCertificates } from './client-certificates.ts';
import { clientTls } from './client-tls.ts';
import { connectionHeader } from './connection-header.ts';
import { cors } from './cors.ts';
import { customHeaders } from './custom-headers.ts';
import { defaultBackend } from './default-backend.ts';
import { errorPages } from './error-pages.ts';
import { externalAuth } from './external-auth.ts';
import { firewall } from './firewall.ts';
import { httpVersion } from './http-version.ts';
import { http2Push } from './http2-push.ts';
import { httpsRedirect } from './https-redirect.ts';
import { loadBalancing } from './load-balancing.ts';
import { logs } from './logs.ts';
import { mirror } from './mirror.ts';
import { pace } from './pace.ts';
import { rateLimits } from './rate-limits.ts';
import { redirects } from './redirects.ts';
import { retries } from './retries.ts';
import { rewrites } from './rewrites.ts';
import { serverAlias } from './server-alias.ts';
import { sessionAffinity } from './session-affinity.ts';
import { snippets } from './snippets.ts';
import { timeouts } from './timeouts.ts';
import { tracing } from './tracing.ts';
import { upstreamHost } from './upstream-host.ts';

export const annotationFeatures: readonly AnnotationFeature[] = [
  addressLists,
  answerRewrites,
  appRoot,
  backendProtocol,
  basicAuth,
  bodySize,
  buffering,
  canary,
  clientCertificates,
  clientTls,
  connectionHeader,
  cors,
  customHeaders,
  defaultBackend,
  errorPages,
  externalAuth,
  firewall,
  http2Push,
  httpsRedirect,
  httpVersion,
  loadBalancing,
  pace,
  rateLimits,
  redirects,
  retries,
  serverAlias,
  sessionAffinity,
  rewrites,
  snippets,
  timeouts,
  upstreamHost,
  logs,
  mirror,
  tracing,
];
