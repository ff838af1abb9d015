import { authorityHost, type MirrorTarget } from '../../model/mirror.ts';
import { isConstant, type Template } from '../../model/template.ts';
import { annotationFeature, type Finding, leftoverFindings } from '../declaration/annotation.ts';
import type { Codec, Decoded } from '../declaration/codec.ts';
import { onOff, textOf } from '../declaration/codecs.ts';
import { approximated, HONOURED } from '../declaration/support.ts';
import { parseTemplate } from '../declaration/template.ts';
import { parseExternalName } from '../external-name.ts';

const COMMON = { scope: 'paths', whenInvalid: 'default' } as const;

interface TargetUrl {
  readonly target: MirrorTarget;
  readonly path: Template;
}

const characters = textOf('regex', 'an http or https URL');
/** Longer ones do not fit into the configuration of nginx. */
const MAX_LENGTH = 1024;

const URL_PARTS = /^(https?):\/\/([^/?$]*)(.*)$/i;
const AUTHORITY = /^(\[[\da-f.]*:[\da-f:.]*\]|[^:[\]]+)(?::(\d{1,5}))?$/i;
const NO_TARGET = { reason: `is not ${characters.expects}` };

/** Variables that begin with a slash, so that nothing of them can become a part of the host. */
const PATHS: readonly string[] = ['request_uri', 'uri'];

const targetUrl: Codec<TargetUrl> = {
  expects: characters.expects,
  decode(text) {
    const decoded = characters.decode(text.replaceAll(' ', ''));
    if ('reason' in decoded) return decoded;
    const [, scheme = '', authority = '', rest = ''] = URL_PARTS.exec(decoded.value) ?? [];
    if (scheme === '' || decoded.value.length > MAX_LENGTH) return NO_TARGET;
    const path = pathOf(rest);
    if ('reason' in path) return path;
    if (authority === '' || !beginsWithSlash(path.value)) return { reason: 'has a variable in its host' };
    const tls = scheme.toLowerCase() === 'https';
    const target = targetOf(tls, authority);
    return 'reason' in target ? target : { value: { target: target.value, path: path.value } };
  },
};

/** A URL without a path is asked for that of the request, and one without variables for the query of the request too, as by nginx. */
function pathOf(rest: string): Decoded<Template> {
  if (rest === '') return { value: [{ variable: 'request_uri' }] };
  const parsed = parseTemplate(rest.startsWith('?') ? `/${rest}` : rest);
  if ('reason' in parsed || !isConstant(parsed.value) || rest.includes('?')) return parsed;
  return { value: [...parsed.value, { variable: 'is_args' }, { variable: 'args' }] };
}

function beginsWithSlash([first = '']: Template): boolean {
  return typeof first === 'string' ? first.startsWith('/') : PATHS.includes(first.variable);
}

/** What resolvers make of a name is known to the proxy alone. */
function targetOf(tls: boolean, authority: string): Decoded<MirrorTarget> {
  const [, host = '', digits] = AUTHORITY.exec(authority) ?? [];
  const port = digits === undefined ? (tls ? 443 : 80) : Number(digits);
  if (host === '' || port < 1 || port > 65_535) return NO_TARGET;
  const parsed = parseExternalName(host.replace(/^\[(.*)\]$/, '$1'));
  if ('reason' in parsed) return { reason: `names ${host}, which ${parsed.reason}` };
  return { value: { tls, hostname: parsed.hostname, port } };
}

const hostText: Codec<Template> = {
  expects: 'a host, in which variables of nginx may stand',
  decode(text) {
    const written = text.replaceAll(' ', '');
    const literal = written.replaceAll(/\$(?:\{\w+\}|\w+)/g, '');
    if (written.length > MAX_LENGTH || !/^[A-Za-z0-9._:[\]-]*$/.test(literal))
      return { reason: `is not ${this.expects}` };
    return parseTemplate(written);
  },
};

export const mirror = annotationFeature({
  title: 'Copies of requests',
  keys: {
    'mirror-target': {
      ...COMMON,
      codec: targetUrl,
      risk: 'High',
      summary:
        'The URL to which a copy of each request is sent that a backend gets; the answer to the copy does not count. Variables of nginx may stand behind its host, not in it.',
      example: 'https://copies.example.com$request_uri',
      envoy: approximated(
        'A body of more than 1 MiB, or than `client-body-buffer-size` where that is more (16 MiB at most), keeps its request from being copied; WebSockets are not copied; and while 128 copies to one host are under way, no more are made for it.',
      ),
      nginx: HONOURED,
    },
    'mirror-host': {
      ...COMMON,
      codec: hostText,
      risk: 'High',
      default: 'the host of `mirror-target`',
      defaultInWords: true,
      summary: 'The `Host` of copies; variables of nginx may stand in it.',
      example: 'copies.example.com',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'mirror-request-body': {
      ...COMMON,
      codec: onOff,
      risk: 'Low',
      default: 'on',
      summary: 'Whether a copy has the body of its request.',
      example: 'off',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply: (values, { ingress }) => {
    const { 'mirror-target': url, 'mirror-host': host, 'mirror-request-body': body = true } = values;
    if (url === undefined)
      return { warnings: leftoverFindings(Object.keys(values), 'it has no effect without mirror-target') };
    const { target, path } = url;
    const name = withoutDot(target.hostname);
    if (ingress.rules.some(({ host = '' }) => withoutDot(host.toLowerCase()) === name)) return { warnings: [AGAIN] };
    const byDefault = [authorityHost(name)];
    return { route: { mirror: { target, path, host: host ?? byDefault, body } } };
  },
});

function withoutDot(name: string): string {
  return name.replace(/\.$/, '');
}

const AGAIN: Finding = {
  annotation: 'mirror-target',
  reason: 'its host is one of the Ingress itself, where each copy would be copied again; it has no effect',
  code: 'AnnotationInvalid',
  ignored: true,
};
