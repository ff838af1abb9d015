import { startServices } from '../envoy/behaviour/cases.ts';
import { configMap, ingress } from '../support/manifests.ts';
import type { AnnotationTable } from './table.ts';

const HOST = 'blocked.example.com';

/** The ConfigMap with this data, and a host with and without TLS. */
function blocked(title: string, data: Readonly<Record<string, string>>, keys: AnnotationTable['keys']) {
  return {
    title: `blocked clients: ${title}`,
    start: async () => {
      const services = await startServices('web');
      return {
        close: services.close,
        build: { configMap: 'default/config' },
        manifests: [
          ...services.manifests,
          configMap('config', data),
          ingress({ name: 'plain', rules: [{ host: HOST, paths: [{}] }] }),
          ingress({ name: 'wild', rules: [{ host: '*.wild.example.com', paths: [{}] }] }),
          ingress({
            name: 'secure',
            rules: [{ host: `secure.${HOST}`, paths: [{}] }],
            tls: [{ hosts: [`secure.${HOST}`] }],
          }),
        ],
      };
    },
    keys,
  } satisfies AnnotationTable;
}

const FORBIDDEN = { status: 403, text: '<center><h1>403 Forbidden</h1></center>' };
const open = { url: `http://${HOST}/`, backend: 'web' };
const closed = { url: `http://${HOST}/`, status: 503, because: 'nobody knows whom to block' };

const agent = (userAgent: string) => ({ url: `http://${HOST}/`, headers: { 'user-agent': userAgent } });
const referer = (page: string) => ({ url: `http://${HOST}/`, headers: { referer: page } });

export const blockedClients: readonly AnnotationTable[] = [
  blocked(
    'addresses',
    { 'block-cidrs': '192.0.2.0/24, 127.0.0.0/8' },
    {
      'ConfigMap block-cidrs': {
        good: [
          { url: `http://${HOST}/`, ...FORBIDDEN },
          { url: `https://${HOST}/`, ...FORBIDDEN },
          { url: `http://secure.${HOST}/`, ...FORBIDDEN, because: 'it counts before redirects' },
          { url: 'http://a.wild.example.com/', ...FORBIDDEN },
          { url: 'http://nobody.example.org/', ...FORBIDDEN },
        ],
        default: [],
      },
    },
  ),
  blocked(
    'headers',
    {
      'block-user-agents': 'curl/8.0, default, ~Bad[Bb]ot, ~*evil/\\d+$, a|b$c"d\\',
      'block-referers': '~*spam\\.example\\.(com|org), https://example.com/$1',
    },
    {
      'ConfigMap block-user-agents': {
        good: [
          { ...agent('CURL/8.0'), ...FORBIDDEN },
          { ...agent('curl/8.0 (x)'), backend: 'web', because: 'a text is the whole value' },
          { ...agent('default'), ...FORBIDDEN },
          { ...agent('A BadBot, really'), ...FORBIDDEN },
          { ...agent('a badbot'), backend: 'web', because: 'the case counts behind ~' },
          { ...agent('EVIL/12'), ...FORBIDDEN },
          { ...agent('EVIL/12 not'), backend: 'web' },
          { ...agent('a|b$c"d\\'), ...FORBIDDEN },
          { ...agent('EVIL/12'), url: `http://secure.${HOST}/`, ...FORBIDDEN, because: 'it counts before redirects' },
          { ...agent('EVIL/12'), url: 'http://nobody.example.org/', ...FORBIDDEN },
        ],
        default: [],
        neighbours: [open],
      },
      'ConfigMap block-referers': {
        good: [
          { ...referer('https://SPAM.example.org/page'), ...FORBIDDEN },
          { ...referer('https://example.com/$1'), ...FORBIDDEN },
          {
            ...referer('https://example.com/'),
            backend: 'web',
            received: { referer: 'https://example.com/', 'x-ingress-xds-referer': undefined },
          },
          { ...referer('spam.example.com'), ...FORBIDDEN, because: 'it need not be a URL' },
          { ...referer('a spam.example.com ('), ...FORBIDDEN },
          { ...referer('spam.example.com'), url: 'http://nobody.example.org/', ...FORBIDDEN },
          {
            url: `http://${HOST}/`,
            headers: { 'x-ingress-xds-referer': 'https://spam.example.com/' },
            backend: 'web',
            because: 'it counts under its own name',
          },
        ],
        default: [],
        neighbours: [open],
      },
      'ConfigMap block-cidrs': { good: [], default: [open] },
    },
  ),
  blocked(
    'nobody',
    {},
    {
      'ConfigMap block-user-agents': { good: [], default: [{ ...agent('EVIL/12'), backend: 'web' }] },
      'ConfigMap block-referers': {
        good: [],
        default: [{ ...referer('https://spam.example.com/'), backend: 'web' }],
      },
    },
  ),
  blocked(
    'broken addresses',
    { 'block-cidrs': '192.0.2.0/240' },
    { 'ConfigMap block-cidrs': { good: [], bad: [closed], default: [] } },
  ),
  blocked(
    'a broken expression',
    { 'block-user-agents': '~*(' },
    { 'ConfigMap block-user-agents': { good: [], bad: [closed], default: [] } },
  ),
  blocked(
    'an expression with look-around',
    { 'block-referers': '~^(?!https://example.com)' },
    { 'ConfigMap block-referers': { good: [], bad: [closed], default: [] } },
  ),
];
