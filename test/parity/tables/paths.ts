/** Which requests belong to the path of a rule. */
import { startServices } from '../../envoy/behaviour/cases.ts';
import { ingress, type PathSpec } from '../../support/manifests.ts';
import { table } from '../table.ts';

const HOSTS: Readonly<Record<string, readonly PathSpec[]>> = {
  'prefix.example.com': [{ path: '/foo', service: 'foo' }],
  'slash.example.com': [{ path: '/foo/', service: 'foo' }],
  'exact.example.com': [{ path: '/foo', pathType: 'Exact', service: 'foo' }],
  'exact-slash.example.com': [{ path: '/foo/', pathType: 'Exact', service: 'foo' }],
  'order.example.com': [
    { path: '/', service: 'root' },
    { path: '/foo', service: 'foo' },
    { path: '/foo/bar', service: 'bar' },
    { path: '/foo', pathType: 'Exact', service: 'exact' },
  ],
  'root-exact.example.com': [{ path: '/', pathType: 'Exact', service: 'root' }],
  'implementation.example.com': [{ path: '/foo', pathType: 'ImplementationSpecific', service: 'foo' }],
  'encoded.example.com': [
    { path: '/caf%C3%A9', service: 'foo' },
    { path: '/a%20b', pathType: 'Exact', service: 'bar' },
    { path: '/', service: 'root' },
  ],
  'written.example.com': [
    { path: '/é', service: 'foo' },
    { path: '/a b', pathType: 'Exact', service: 'bar' },
    { path: '/{id}', service: 'exact' },
    { path: '/', service: 'root' },
  ],
  'odd.example.com': [
    { path: '/v1.0/a+b', service: 'foo' },
    { path: '/@scope', service: 'bar' },
    { path: '/~user', pathType: 'Exact', service: 'exact' },
  ],
};

export const paths = table({
  start: async () => {
    const services = await startServices('root', 'foo', 'bar', 'exact');
    const ingresses = Object.entries(HOSTS).map(([host, paths]) =>
      ingress({ name: host.replaceAll('.', '-'), rules: [{ host, paths }] }),
    );
    return { close: services.close, manifests: [...services.manifests, ...ingresses] };
  },
  groups: {
    'Prefix compares whole path elements': [
      { url: 'http://prefix.example.com/foo', backend: 'foo', path: '/foo' },
      { url: 'http://prefix.example.com/foo/', backend: 'foo', path: '/foo/' },
      { url: 'http://prefix.example.com/foo/x/y', backend: 'foo', path: '/foo/x/y' },
      { url: 'http://prefix.example.com/foo?x=/bar', backend: 'foo', path: '/foo?x=/bar' },
      { url: 'http://prefix.example.com/foobar', status: 404 },
      { url: 'http://prefix.example.com/fo', status: 404 },
      { url: 'http://prefix.example.com/FOO', status: 404 },
      { url: 'http://prefix.example.com/x/foo', status: 404 },
      { url: 'http://prefix.example.com/', status: 404 },
    ],
    'Prefix with a slash at the end is the same as without': [
      { url: 'http://slash.example.com/foo', backend: 'foo', path: '/foo' },
      { url: 'http://slash.example.com/foo/', backend: 'foo' },
      { url: 'http://slash.example.com/foo/x', backend: 'foo' },
      { url: 'http://slash.example.com/foobar', status: 404 },
    ],
    Exact: [
      { url: 'http://exact.example.com/foo', backend: 'foo' },
      { url: 'http://exact.example.com/foo?x=1', backend: 'foo', path: '/foo?x=1' },
      { url: 'http://exact.example.com/foo/', status: 404 },
      { url: 'http://exact.example.com/foo/x', status: 404 },
      { url: 'http://exact.example.com/Foo', status: 404 },
      { url: 'http://exact-slash.example.com/foo/', backend: 'foo' },
      {
        url: 'http://exact-slash.example.com/foo',
        status: 404,
        differs: 'exactSlash',
        nginx: { status: 301, answered: { location: 'http://exact-slash.example.com/foo/' } },
      },
      { url: 'http://root-exact.example.com/', backend: 'root' },
      { url: 'http://root-exact.example.com/x', status: 404 },
    ],
    'ImplementationSpecific is handled as Prefix': [
      { url: 'http://implementation.example.com/foo', backend: 'foo' },
      { url: 'http://implementation.example.com/foo/x', backend: 'foo' },
      { url: 'http://implementation.example.com/foobar', status: 404 },
    ],
    'the most specific path wins, however they are written down': [
      { url: 'http://order.example.com/', backend: 'root' },
      { url: 'http://order.example.com/fo', backend: 'root' },
      { url: 'http://order.example.com/foobar', backend: 'root' },
      { url: 'http://order.example.com/foo', backend: 'exact' },
      { url: 'http://order.example.com/foo/', backend: 'foo' },
      { url: 'http://order.example.com/foo/x', backend: 'foo' },
      { url: 'http://order.example.com/foo/bar', backend: 'bar' },
      { url: 'http://order.example.com/foo/bar/', backend: 'bar' },
      { url: 'http://order.example.com/foo/barx', backend: 'foo' },
    ],
    'a path is resolved before it is compared': [
      { url: 'http://order.example.com//foo//x', backend: 'foo', differs: 'normalizedPath' },
      { url: 'http://order.example.com/foo/../x', backend: 'root', differs: 'normalizedPath' },
      { url: 'http://order.example.com/x/../foo/x', backend: 'foo', differs: 'normalizedPath' },
      { url: 'http://order.example.com/./foo/./x', backend: 'foo', differs: 'normalizedPath' },
      { url: 'http://order.example.com/foo/bar/..', backend: 'foo', differs: 'normalizedPath' },
      {
        url: 'http://order.example.com/x/%2e%2e/foo/x',
        backend: 'foo',
        because: 'encoded dots are dots',
        differs: 'normalizedPath',
      },
      {
        url: 'http://order.example.com/%66oo/x',
        backend: 'foo',
        because: 'an encoded letter is the letter',
        differs: 'normalizedPath',
      },
      {
        url: 'http://order.example.com/foo\\x',
        backend: 'foo',
        because: 'a backslash is a slash',
        differs: 'backslash',
        nginx: { backend: 'root' },
      },
    ],
    'percent-encoding': [
      { url: 'http://encoded.example.com/caf%C3%A9', backend: 'foo', path: '/caf%C3%A9' },
      { url: 'http://encoded.example.com/caf%C3%A9/x', backend: 'foo' },
      { url: 'http://encoded.example.com/caf%c3%a9/x', backend: 'foo', path: '/caf%c3%a9/x' },
      { url: 'http://written.example.com/%C3%A9', backend: 'foo', path: '/%C3%A9' },
      { url: 'http://written.example.com/%c3%a9/x', backend: 'foo' },
      { url: 'http://written.example.com/%C3%A9x', backend: 'root' },
      { url: 'http://written.example.com/a%20b', backend: 'bar', path: '/a%20b' },
      { url: 'http://written.example.com/a%20b/', backend: 'root' },
      { url: 'http://written.example.com/%7Bid%7d/x', backend: 'exact', path: '/%7Bid%7d/x' },
      { url: 'http://encoded.example.com/a%20b', backend: 'bar', path: '/a%20b' },
      { url: 'http://encoded.example.com/a+b', backend: 'root', because: 'a plus is no space in a path' },
      { url: 'http://encoded.example.com/x%2Fy', backend: 'root', path: '/x%2Fy', because: 'an encoded slash stays' },
      { url: 'http://encoded.example.com/x%3By%3Fz', backend: 'root', path: '/x%3By%3Fz' },
      {
        url: 'http://encoded.example.com/?q=%2e%2e%2F%20',
        backend: 'root',
        path: '/?q=%2e%2e%2F%20',
        because: 'a query is passed on as it is',
      },
      { url: 'http://encoded.example.com/?//a/../b', backend: 'root', path: '/?//a/../b' },
      { url: 'http://encoded.example.com/?', backend: 'root', path: '/?' },
    ],
    'characters that mean something in a regular expression mean themselves': [
      { url: 'http://odd.example.com/v1.0/a+b/c', backend: 'foo' },
      { url: 'http://odd.example.com/v1x0/a+b', status: 404 },
      { url: 'http://odd.example.com/@scope/name', backend: 'bar' },
      { url: 'http://odd.example.com/%40scope/name', backend: 'bar', path: '/%40scope/name' },
      { url: 'http://odd.example.com/~user', backend: 'exact' },
      { url: 'http://odd.example.com/%7Euser', backend: 'exact', differs: 'normalizedPath' },
    ],
  },
});
