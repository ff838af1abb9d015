import { startWith } from '../envoy/behaviour/cases.ts';
import { ingress } from '../support/manifests.ts';
import { redirectCase } from './named-ports.ts';
import { type AnnotationTable, annotated } from './table.ts';

function host(
  name: string,
  annotations: Readonly<Record<string, string>>,
  more: { tls?: boolean; name?: string } = {},
) {
  const address = `${name}.moved.example.com`;
  return ingress({
    name: more.name ?? name,
    annotations: annotated(annotations),
    rules: [{ host: address, paths: [{ path: '/' }] }],
    ...(more.tls && { tls: [{ hosts: [address] }] }),
  });
}

/** A request to a host of this table. */
function leadsTo(url: string, location: string | undefined, more: object = {}) {
  return { url: `http://${url}`, status: 301, answered: { location }, ...more };
}

const OLD = 'https://new.example.com/a?b=c';

export const redirects: AnnotationTable = {
  title: 'redirects',
  start: startWith(['web', 'rest'], () => [
    host('plain', {}),
    host('old', { 'permanent-redirect': OLD }),
    host('path', { 'permanent-redirect': '/elsewhere' }),
    host('path-port', { 'permanent-redirect': '/elsewhere', 'use-port-in-redirects': 'true' }),
    host('*.wild', { 'permanent-redirect': '/elsewhere' }, { name: 'wild' }),
    host('relative', { 'permanent-redirect': '/elsewhere', 'relative-redirects': 'true' }),
    host('bad-relative', { 'permanent-redirect': '/elsewhere', 'relative-redirects': 'yes' }),
    host('bare', { 'permanent-redirect': 'www.example.com' }),
    host('bad', { 'permanent-redirect': 'https://new.example.com$request_uri' }),
    host('code', { 'permanent-redirect': OLD, 'permanent-redirect-code': '308' }),
    host('text', { 'permanent-redirect': OLD, 'permanent-redirect-code': '300' }),
    host('proxy', { 'permanent-redirect': OLD, 'permanent-redirect-code': '305' }),
    host('far-code', { 'permanent-redirect': OLD, 'permanent-redirect-code': '200' }),
    host('bad-code', { 'permanent-redirect': OLD, 'permanent-redirect-code': 'moved' }),
    host('now', { 'temporal-redirect': OLD }),
    host('both', { 'permanent-redirect': 'https://other.example.com', 'temporal-redirect': OLD }),
    host('ftp', { 'temporal-redirect': 'ftp://new.example.com', 'permanent-redirect': OLD }),
    host('bad-now', { 'temporal-redirect': 'https://new.example.com/{}' }),
    host('now-code', { 'temporal-redirect': OLD, 'temporal-redirect-code': '307' }),
    host('far-now-code', { 'temporal-redirect': OLD, 'temporal-redirect-code': '308' }),
    host('bad-now-code', { 'temporal-redirect': OLD, 'temporal-redirect-code': 'x' }),
    host('secure', { 'permanent-redirect': OLD }, { tls: true }),
    host('listed', { 'permanent-redirect': OLD, 'allowlist-source-range': '192.0.2.1' }),
    host('cors', { 'permanent-redirect': OLD, 'enable-cors': 'true' }),
    host('denied', { 'permanent-redirect': OLD, 'allowlist-source-range': '10.0.0.0/8;' }),
    ingress({
      name: 'part',
      annotations: annotated({ 'permanent-redirect': OLD }),
      rules: [{ host: 'part.moved.example.com', paths: [{ path: '/old', service: 'nowhere:80' }] }],
    }),
    ingress({
      name: 'part-web',
      created: '2030-01-01T00:00:00Z',
      rules: [{ host: 'part.moved.example.com', paths: [{ path: '/web' }] }],
    }),
    ingress({
      name: 'any',
      annotations: annotated({ 'permanent-redirect': OLD }),
      defaultBackend: 'rest:80',
    }),
  ]),
  keys: {
    'permanent-redirect': {
      good: [
        leadsTo('old.moved.example.com/', OLD),
        leadsTo('old.moved.example.com/x/y/?z', OLD, { because: 'path and query of the request do not count' }),
        leadsTo('old.moved.example.com/x', OLD, { method: 'POST', body: 'x', text: '301 Moved Permanently' }),
        leadsTo('path.moved.example.com/x?y', 'http://path.moved.example.com/elsewhere'),
        leadsTo('PATH.moved.example.com:8080/x?y', 'http://path.moved.example.com/elsewhere', {
          because: 'the port and the case of the Host do not count',
        }),
        {
          url: 'https://path.moved.example.com/',
          status: 301,
          answered: { location: 'https://path.moved.example.com/elsewhere' },
        },
        leadsTo('bare.moved.example.com/', 'www.example.com'),
        leadsTo('ANY.wild.moved.example.com/', 'http://ANY.wild.moved.example.com/elsewhere', {
          differs: 'redirectCase',
          nginx: { status: 301, answered: { location: 'http://any.wild.moved.example.com/elsewhere' } },
        }),
      ],
      bad: [{ url: 'http://bad.moved.example.com/', backend: 'rest', because: 'the Ingress is refused' }],
      default: [{ url: 'http://plain.moved.example.com/', backend: 'web' }],
      neighbours: [
        leadsTo('secure.moved.example.com/', OLD, { because: 'it counts before the redirect to https' }),
        {
          url: 'https://secure.moved.example.com/',
          status: 301,
          answered: { location: OLD, 'strict-transport-security': 'max-age=31536000; includeSubDomains' },
        },
        leadsTo('part.moved.example.com/old/x', OLD, { because: 'it needs no Service' }),
        { url: 'http://part.moved.example.com/web', backend: 'web', because: 'another Ingress has the path' },
        leadsTo('part.moved.example.com/x', OLD, { because: 'what no path takes belongs to the first Ingress' }),
        { url: 'http://denied.moved.example.com/', status: 503, because: 'what is denied is not redirected' },
        leadsTo('listed.moved.example.com/', OLD, { because: 'what protects a backend does not count' }),
        {
          url: 'http://cors.moved.example.com/',
          method: 'OPTIONS',
          headers: { origin: 'https://a.example.com', 'access-control-request-method': 'GET' },
          status: 204,
        },
        leadsTo('cors.moved.example.com/', OLD, {
          headers: { origin: 'https://a.example.com' },
          answered: { location: OLD, 'access-control-allow-origin': '*' },
        }),
        {
          url: 'http://unknown.example.org/',
          backend: 'rest',
          because: 'on an Ingress without rules it does not count',
        },
      ],
    },
    'permanent-redirect-code': {
      good: [
        leadsTo('code.moved.example.com/', OLD, { status: 308 }),
        leadsTo('text.moved.example.com/', undefined, { status: 300, text: OLD }),
        leadsTo('proxy.moved.example.com/', undefined, { status: 305, text: OLD }),
        leadsTo('far-code.moved.example.com/', OLD, { because: 'the code is out of range' }),
      ],
      bad: [{ url: 'http://bad-code.moved.example.com/', backend: 'rest', because: 'the Ingress is refused' }],
      default: [leadsTo('old.moved.example.com/', OLD)],
    },
    'temporal-redirect': {
      good: [leadsTo('now.moved.example.com/x', OLD, { status: 302 })],
      bad: [{ url: 'http://bad-now.moved.example.com/', backend: 'rest', because: 'the Ingress is refused' }],
      default: [{ url: 'http://plain.moved.example.com/', backend: 'web' }],
      neighbours: [
        leadsTo('both.moved.example.com/', OLD, { status: 302, because: 'it counts before permanent-redirect' }),
        { url: 'http://ftp.moved.example.com/', backend: 'web', because: 'the others do not count without http' },
      ],
    },
    'temporal-redirect-code': {
      good: [
        leadsTo('now-code.moved.example.com/', OLD, { status: 307 }),
        leadsTo('far-now-code.moved.example.com/', OLD, { status: 302, because: 'the code is out of range' }),
      ],
      bad: [{ url: 'http://bad-now-code.moved.example.com/', backend: 'rest', because: 'the Ingress is refused' }],
      default: [leadsTo('now.moved.example.com/', OLD, { status: 302 })],
    },
    'relative-redirects': {
      good: [leadsTo('relative.moved.example.com/x', '/elsewhere')],
      bad: [{ url: 'http://bad-relative.moved.example.com/', backend: 'rest', because: 'the Ingress is refused' }],
      default: [leadsTo('path.moved.example.com/', 'http://path.moved.example.com/elsewhere')],
      neighbours: [
        redirectCase('http://path-port.moved.example.com/', 301, 'http://path-port.moved.example.com:HTTP/elsewhere'),
        redirectCase(
          'https://path-port.moved.example.com/',
          301,
          'https://path-port.moved.example.com:HTTPS/elsewhere',
        ),
      ],
    },
  },
};
