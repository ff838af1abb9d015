import type { SessionAffinity, SessionCookie } from '../../model/session-affinity.ts';
import { type AnnotationKey, annotationFeature, type Finding, leftoverFindings } from '../declaration/annotation.ts';
import { boolean, choice, integer, textOf } from '../declaration/codecs.ts';
import { approximated, HONOURED, type SupportByProxy, whenOn } from '../declaration/support.ts';

/** Fields that most of these annotations share. */
const COMMON = { scope: 'paths', risk: 'Medium', whenInvalid: 'default' } as const satisfies Partial<AnnotationKey>;

const WITHOUT_LUA = 'nginx needs its Lua module for it; without that, there are no sessions.';
const WITH_LUA: SupportByProxy = { envoy: HONOURED, nginx: approximated(WITHOUT_LUA) };

const age = integer({ of: 'seconds' });

export const sessionAffinity = annotationFeature({
  title: 'Session affinity',
  keys: {
    affinity: {
      ...COMMON,
      envoy: approximated(
        'The value of the cookie differs, so that each client may change its endpoint once when ingress-nginx goes.',
      ),
      nginx: approximated(WITHOUT_LUA),
      risk: 'Low',
      codec: choice('cookie'),
      summary: 'Whether the requests of a client go to one endpoint, by a cookie.',
      example: 'cookie',
    },
    'affinity-mode': {
      ...COMMON,
      envoy: approximated(
        'The cookie of `persistent` holds the address of the endpoint, and a request that fails is not tried again unless `session-cookie-change-on-failure` is set.',
        (mode: string) => mode === 'persistent',
      ),
      nginx: approximated(WITHOUT_LUA),
      codec: choice('balanced', 'persistent'),
      default: 'balanced',
      summary:
        '`balanced`: a few clients move when endpoints come or go. `persistent`: clients stay while their endpoint is there.',
      example: 'persistent',
    },
    'session-cookie-name': {
      ...COMMON,
      ...WITH_LUA,
      codec: textOf('basic', 'the name of a cookie'),
      default: 'INGRESSCOOKIE',
      summary: 'Name of the cookie.',
      example: 'route',
    },
    'session-cookie-path': {
      ...COMMON,
      envoy: approximated('A session in `persistent` mode holds for requests below this path alone.'),
      nginx: approximated(WITHOUT_LUA),
      codec: textOf('url', 'a path'),
      summary: '`Path` of the cookie; the path of the Ingress without it, `/` where that is a regular expression.',
      example: '/',
    },
    'session-cookie-domain': {
      ...COMMON,
      ...WITH_LUA,
      codec: textOf('basic', 'a domain'),
      summary: '`Domain` of the cookie.',
      example: 'example.com',
    },
    'session-cookie-max-age': {
      ...COMMON,
      ...WITH_LUA,
      codec: age,
      summary: '`Max-Age` of the cookie, in seconds; without it, it ends with the browser.',
      example: '172800',
    },
    'session-cookie-expires': {
      ...COMMON,
      envoy: approximated('Sent as `Max-Age`, which browsers prefer; `session-cookie-max-age` counts more.'),
      nginx: approximated(`Sent as \`Max-Age\`, as from Envoy. ${WITHOUT_LUA}`),
      codec: age,
      summary: 'After how many seconds the cookie expires.',
      example: '172800',
    },
    'session-cookie-samesite': {
      ...COMMON,
      ...WITH_LUA,
      risk: 'Low',
      codec: choice('None', 'Lax', 'Strict'),
      summary: '`SameSite` of the cookie.',
      example: 'Lax',
    },
    'session-cookie-conditional-samesite-none': {
      ...COMMON,
      ...WITH_LUA,
      risk: 'Low',
      codec: boolean,
      default: 'false',
      summary: 'Whether browsers that misunderstand `SameSite=None` get the cookie without it.',
      example: 'true',
    },
    'session-cookie-secure': {
      ...COMMON,
      ...WITH_LUA,
      risk: 'Low',
      codec: boolean,
      summary: 'Whether the cookie is `Secure` in any case; else it is so over https.',
      example: 'true',
    },
    'session-cookie-change-on-failure': {
      ...COMMON,
      envoy: approximated(
        'In `balanced` mode the cookie stays as it is, so the next request begins with the endpoint that failed.',
        whenOn,
      ),
      nginx: approximated(WITHOUT_LUA),
      risk: 'Low',
      codec: boolean,
      default: 'false',
      summary: 'Whether a request that fails is tried at another endpoint, else at the same.',
      example: 'true',
    },
  },
  apply(values) {
    if (values.affinity === undefined) return { warnings: withoutAffinity(Object.keys(values)) };
    const mode = values['affinity-mode'] ?? 'balanced';
    const affinity: SessionAffinity = {
      mode,
      cookie: cookieOf(values),
      changeOnFailure: values['session-cookie-change-on-failure'] ?? false,
    };
    return { route: { affinity }, ...(mode === 'balanced' && { cluster: { cookieHash: true } }) };
  },
});

interface CookieValues {
  readonly 'session-cookie-name'?: string;
  readonly 'session-cookie-path'?: string;
  readonly 'session-cookie-domain'?: string;
  readonly 'session-cookie-max-age'?: number;
  readonly 'session-cookie-expires'?: number;
  readonly 'session-cookie-samesite'?: NonNullable<SessionCookie['sameSite']>;
  readonly 'session-cookie-conditional-samesite-none'?: boolean;
  readonly 'session-cookie-secure'?: boolean;
}

function cookieOf(values: CookieValues): SessionCookie {
  const path = values['session-cookie-path'];
  const domain = values['session-cookie-domain'];
  const maxAgeSeconds = values['session-cookie-max-age'] ?? values['session-cookie-expires'];
  const sameSite = values['session-cookie-samesite'];
  const conditional = sameSite === 'None' && values['session-cookie-conditional-samesite-none'] === true;
  return {
    name: values['session-cookie-name'] ?? 'INGRESSCOOKIE',
    ...(path !== undefined && { path }),
    ...(domain !== undefined && { domain }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    ...(sameSite && { sameSite }),
    ...(conditional && { noSameSiteFor: OLD_BROWSERS }),
    secure: values['session-cookie-secure'] === true || 'over-tls',
  };
}

/** Browsers on iOS 12 and Safari on macOS 10.14, Chrome 51 to 66, UC Browser before 12.13.2. */
const OLD_BROWSERS = [
  String.raw`\(iP.+; CPU .*OS 12[_0-9]*.*\) AppleWebKit/`,
  String.raw`\(Macintosh;.*Mac OS X 10_14[_0-9]*.*\) AppleWebKit/[.0-9]+ \(KHTML, like Gecko\) Version/`,
  String.raw`Chrom(?:e|ium)/(?:5[1-9]|6[0-6])\.`,
  String.raw`UCBrowser/(?:[0-9]|1[01]|12\.(?:[0-9]|1[0-2])|12\.13\.[01])\.`,
].join('|');

function withoutAffinity(names: readonly string[]): Finding[] {
  return leftoverFindings(names, 'it has no effect without affinity: "cookie"');
}
