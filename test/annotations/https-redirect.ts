import { startWith } from '../envoy/behaviour/cases.ts';
import { ingress } from '../support/manifests.ts';
import { redirectCase } from './named-ports.ts';
import { type AnnotationTable, annotated } from './table.ts';

function host(name: string, annotations: Readonly<Record<string, string>>, tls: boolean) {
  const address = `${name}.redirect.example.com`;
  return ingress({
    name: name.replaceAll('.', '-'),
    annotations: annotated(annotations),
    rules: [{ host: address, paths: [{ path: '/' }] }],
    ...(tls && { tls: [{ hosts: [address] }] }),
  });
}

export const httpsRedirect: AnnotationTable = {
  title: 'redirect to https',
  start: startWith(['web'], () => [
    host('plain', {}, false),
    host('tls', {}, true),
    host('off', { 'ssl-redirect': 'false' }, true),
    host('bad', { 'ssl-redirect': 'no' }, true),
    host('forced', { 'force-ssl-redirect': 'true' }, false),
    host('both', { 'force-ssl-redirect': 'true', 'ssl-redirect': 'false' }, true),
    host('slash', { 'preserve-trailing-slash': 'true' }, true),
    host('bad-slash', { 'preserve-trailing-slash': 'on' }, true),
    host('port', { 'use-port-in-redirects': 'true' }, true),
    host('bad-port', { 'use-port-in-redirects': '443' }, true),
    host('slash-port', { 'use-port-in-redirects': 'true', 'preserve-trailing-slash': 'true' }, true),
    host('badly-forced', { 'force-ssl-redirect': 'yes' }, false),
  ]),
  keys: {
    'ssl-redirect': {
      good: [
        { url: 'http://off.redirect.example.com/a', backend: 'web' },
        { url: 'https://off.redirect.example.com/a', backend: 'web' },
      ],
      bad: [{ url: 'http://bad.redirect.example.com/a', status: 308, because: 'the default holds' }],
      default: [
        {
          url: 'http://tls.redirect.example.com/a',
          status: 308,
          answered: { location: 'https://tls.redirect.example.com/a' },
        },
      ],
    },
    'force-ssl-redirect': {
      good: [
        {
          url: 'http://forced.redirect.example.com/a',
          status: 308,
          answered: { location: 'https://forced.redirect.example.com/a' },
        },
        { url: 'https://forced.redirect.example.com/a', backend: 'web' },
      ],
      bad: [{ url: 'http://badly-forced.redirect.example.com/', backend: 'web' }],
      default: [{ url: 'http://plain.redirect.example.com/', backend: 'web' }],
      neighbours: [{ url: 'http://both.redirect.example.com/', status: 308, because: 'ssl-redirect does not count' }],
    },
    'preserve-trailing-slash': {
      good: [
        redirectCase('http://slash.redirect.example.com/', 308, 'https://slash.redirect.example.com/'),
        redirectCase('http://slash.redirect.example.com/a/', 308, 'https://slash.redirect.example.com/a/'),
        redirectCase('http://slash.redirect.example.com/a?b=/', 308, 'https://slash.redirect.example.com/a?b=/'),
        redirectCase('http://Slash.redirect.example.com:8080/a', 308, 'https://Slash.redirect.example.com/a'),
        { url: 'https://slash.redirect.example.com/a/', backend: 'web', path: '/a/' },
      ],
      bad: [redirectCase('http://bad-slash.redirect.example.com/a/', 308, 'https://bad-slash.redirect.example.com/a')],
      default: [redirectCase('http://tls.redirect.example.com/a/', 308, 'https://tls.redirect.example.com/a')],
    },
    'use-port-in-redirects': {
      good: [
        redirectCase('http://port.redirect.example.com/a/', 308, 'https://port.redirect.example.com:HTTPS/a'),
        redirectCase('http://port.redirect.example.com:8080/', 308, 'https://port.redirect.example.com:HTTPS'),
      ],
      bad: [redirectCase('http://bad-port.redirect.example.com/a', 308, 'https://bad-port.redirect.example.com/a')],
      default: [redirectCase('http://tls.redirect.example.com/a', 308, 'https://tls.redirect.example.com/a')],
      neighbours: [
        redirectCase('http://slash-port.redirect.example.com/', 308, 'https://slash-port.redirect.example.com:HTTPS/'),
      ],
    },
  },
};
