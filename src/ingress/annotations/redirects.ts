import { annotationFeature, type Finding, leftoverFindings, type RedirectEffect } from '../declaration/annotation.ts';
import { boolean, integer, textOf } from '../declaration/codecs.ts';
import { HONOURED } from '../declaration/support.ts';
import { quote } from '../diagnose.ts';
import { isRedirectStatus } from '../redirects.ts';

const common = { whenInvalid: 'refuse', envoy: HONOURED, nginx: HONOURED } as const;
const ofPaths = { ...common, scope: 'paths' } as const;

export const redirects = annotationFeature({
  title: 'Redirects',
  keys: {
    'permanent-redirect': {
      ...ofPaths,
      codec: textOf('url', 'a URL'),
      risk: 'Medium',
      summary:
        'Every request is redirected to this URL; its own path and query are not kept. A path is one of the same host.',
      example: 'https://www.example.com/new',
      quirk:
        'Redirects come before the redirect to https and before authentication; what no path of the host takes is redirected too.',
    },
    'permanent-redirect-code': {
      ...ofPaths,
      codec: integer(),
      risk: 'Low',
      default: '301',
      summary:
        'The status of `permanent-redirect`, from 300 to 308; 301 for any other. With 300, 304, 305 and 306 the URL is the body of the answer, not its `Location`.',
      example: '308',
    },
    'temporal-redirect': {
      ...ofPaths,
      codec: textOf('url', 'a URL'),
      risk: 'Medium',
      summary: 'Every request is redirected to this http or https URL for now; counts before `permanent-redirect`.',
      example: 'https://status.example.com',
    },
    'temporal-redirect-code': {
      ...ofPaths,
      codec: integer(),
      risk: 'Low',
      default: '302',
      summary: 'The status of `temporal-redirect`, from 300 to 307; 302 for any other.',
      example: '307',
    },
    'relative-redirects': {
      ...ofPaths,
      codec: boolean,
      risk: 'Low',
      configMap: 'relative-redirects',
      summary: 'Whether `permanent-redirect` to a path is answered with the path alone, without scheme and host.',
      example: 'true',
    },
    'from-to-www-redirect': {
      ...common,
      scope: 'host',
      codec: boolean,
      risk: 'Low',
      default: 'false',
      summary:
        'Whether requests to the host with `www.` in front, or without it if it has one, are redirected to the host, unless an Ingress has that host.',
      example: 'true',
      quirk: 'The port where the request came stands in the location, and a slash at its very end is dropped.',
    },
  },
  apply(values, { global }) {
    const temporal = values['temporal-redirect'];
    const permanent = values['permanent-redirect'];
    if (temporal !== undefined && !/^https?[^:]*:/i.test(temporal))
      return { warnings: noUrl(temporal, Object.keys(values)) };
    const relative = values['relative-redirects'] ?? global['relative-redirects'];
    const code = temporal === undefined ? permanentCode : temporalCode;
    const url = temporal ?? permanent;
    const redirect = url === undefined ? undefined : { ...code(values), url, relative };
    return {
      host: {
        ...(redirect && { redirect }),
        ...(values['from-to-www-redirect'] && {
          fromToWww: { status: global['http-redirect-code'], forwarded: global['use-forwarded-headers'] },
        }),
      },
      warnings: [
        ...(temporal !== undefined && permanent !== undefined ? [SECOND] : []),
        ...(redirect === undefined ? [] : notFollowed(redirect, temporal === undefined)),
        ...outOfRange(values),
        ...codesOfNothing(values),
      ],
    };
  },
});

interface Redirects {
  readonly 'temporal-redirect'?: string;
  readonly 'permanent-redirect'?: string;
}

interface Codes {
  readonly 'permanent-redirect-code'?: number;
  readonly 'temporal-redirect-code'?: number;
}

const PERMANENT = { annotation: 'permanent-redirect-code', last: 308, otherwise: 301 } as const;
const TEMPORAL = { annotation: 'temporal-redirect-code', last: 307, otherwise: 302 } as const;

function permanentCode(values: Codes) {
  return { status: codeOf(values, PERMANENT) };
}

function temporalCode(values: Codes) {
  return { status: codeOf(values, TEMPORAL) };
}

function codeOf(values: Codes, { annotation, last, otherwise }: typeof PERMANENT | typeof TEMPORAL): number {
  const code = values[annotation] ?? otherwise;
  return code >= 300 && code <= last ? code : otherwise;
}

function outOfRange(values: Codes): Finding[] {
  return [PERMANENT, TEMPORAL].flatMap((kind) => {
    const { annotation, last, otherwise } = kind;
    const code = values[annotation];
    if (code === undefined || codeOf(values, kind) === code) return [];
    return [{ annotation, reason: `${code} is not from 300 to ${last}; ${otherwise} holds instead` }];
  });
}

function notFollowed({ status }: RedirectEffect, isPermanent: boolean): Finding[] {
  if (isRedirectStatus(status)) return [];
  const { annotation } = isPermanent ? PERMANENT : TEMPORAL;
  const reason = `clients follow no ${status}: they get the URL as a text, as with ingress-nginx`;
  return [{ annotation, reason, code: 'AnnotationDoubtful' }];
}

const SECOND: Finding = {
  annotation: 'permanent-redirect',
  reason: 'temporal-redirect counts before it, so it has no effect',
  ignored: true,
};

function noUrl(text: string, names: readonly string[]): Finding[] {
  const annotation = 'temporal-redirect';
  const reason = `${quote(text)} is no http or https URL; it has no effect, nor have the other annotations for redirects`;
  const others = names.filter((name) => name !== annotation);
  return [
    { annotation, reason },
    ...leftoverFindings(others, 'it has no effect while temporal-redirect is no http or https URL'),
  ];
}

/** Codes of redirects that are not there, or do not count. */
function codesOfNothing(values: Codes & Redirects): Finding[] {
  const { 'temporal-redirect': temporal, 'permanent-redirect': permanent } = values;
  const of = (name: keyof Codes, why: string) => (values[name] === undefined ? [] : leftoverFindings([name], why));
  if (temporal !== undefined) return of('permanent-redirect-code', SECOND.reason);
  const ofTemporal = of('temporal-redirect-code', 'it has no effect without temporal-redirect');
  if (permanent !== undefined) return ofTemporal;
  return [...ofTemporal, ...of('permanent-redirect-code', 'it has no effect without permanent-redirect')];
}
