import type { ServerResponse } from 'node:http';
import { startBackend } from '../support/backend.ts';
import { configMap, ingress, service } from '../support/manifests.ts';
import { type AnnotationCase, type AnnotationTable, annotated } from './table.ts';

const MIB = 1024 ** 2;

function host(name: string, annotations: Readonly<Record<string, string>>, { tls = false } = {}) {
  const address = `${name}.size.example.com`;
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: address, paths: [{ path: '/' }] }],
    ...(tls && { tls: [{ hosts: [address] }] }),
  });
}

/** A backend that says how many bytes have come. */
async function startCounter() {
  const web = await startBackend('web', (request, response: ServerResponse) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end(`${bytes} bytes`));
  });
  return { close: web.close, manifests: [service('web'), web.slice('web')] };
}

/** A request with a body of so many bytes, of which the backend gets all or nothing. */
function upload(url: string, bytes: number, status: number, how: 'declared' | 'chunked' = 'declared'): AnnotationCase {
  return {
    url,
    method: 'POST',
    body: 'x'.repeat(bytes),
    ...(how === 'chunked' && { headers: { 'transfer-encoding': 'chunked' } }),
    because: `${bytes} bytes, ${how}`,
    status,
    ...(status === 200 && { text: `${bytes} bytes` }),
  };
}

export const bodySize: AnnotationTable = {
  title: 'size of request bodies',
  start: async () => {
    const web = await startCounter();
    return {
      close: web.close,
      manifests: [
        ...web.manifests,
        host('default', {}),
        host('small', { 'proxy-body-size': '1k' }),
        host('large', { 'proxy-body-size': '2 M' }),
        host('unlimited', { 'proxy-body-size': '0' }),
        host('bad', { 'proxy-body-size': '2MB' }),
        host('small-secure', { 'proxy-body-size': '1k' }, { tls: true }),
        host('large-secure', { 'proxy-body-size': '2m' }, { tls: true }),
        ingress({
          name: 'beside',
          annotations: annotated({ 'proxy-body-size': '10' }),
          rules: [
            { host: 'large.size.example.com', paths: [{ path: '/small' }, { path: '/gone', service: 'gone:80' }] },
          ],
        }),
      ],
    };
  },
  keys: {
    'proxy-body-size': {
      good: [
        upload('http://small.size.example.com/', 1024, 200),
        upload('http://small.size.example.com/', 1025, 413),
        upload('http://small.size.example.com/', 1024, 200, 'chunked'),
        upload('http://small.size.example.com/', 1025, 413, 'chunked'),
        upload('http://large.size.example.com/', 2 * MIB, 200),
        upload('http://large.size.example.com/', 2 * MIB, 200, 'chunked'),
        upload('http://large.size.example.com/', 2 * MIB + 1, 413),
        upload('http://unlimited.size.example.com/', 3 * MIB, 200),
        upload('http://unlimited.size.example.com/', 3 * MIB, 200, 'chunked'),
        upload('https://large-secure.size.example.com/', 2 * MIB, 200),
        upload('https://small-secure.size.example.com/', 1025, 413),
      ],
      bad: [upload('http://bad.size.example.com/', MIB, 200), upload('http://bad.size.example.com/', MIB + 1, 413)],
      default: [
        upload('http://default.size.example.com/', MIB, 200),
        upload('http://default.size.example.com/', MIB + 1, 413),
        upload('http://default.size.example.com/', MIB + 1, 413, 'chunked'),
      ],
      neighbours: [
        upload('http://large.size.example.com/small', 10, 200),
        upload('http://large.size.example.com/small', 11, 413),
        upload('http://large.size.example.com/gone', 11, 413),
        upload('http://large.size.example.com/gone', 10, 503),
        // A redirect, and a page of the proxy itself.
        upload('http://small-secure.size.example.com/', 1024, 308),
        upload('http://small-secure.size.example.com/', 1025, 413),
        upload('http://large-secure.size.example.com/', 2 * MIB, 308),
        upload('http://large-secure.size.example.com/', 2 * MIB + 1, 413),
      ],
    },
  },
};

function worldOf(value: string): AnnotationTable['start'] {
  return async () => {
    const web = await startCounter();
    return {
      close: web.close,
      build: { configMap: 'default/config' },
      manifests: [
        ...web.manifests,
        configMap('config', { 'proxy-body-size': value }),
        host('all', {}),
        host('own', { 'proxy-body-size': '1m' }),
        host('bad', { 'proxy-body-size': 'big' }),
      ],
    };
  };
}

/** The same, asked of every Ingress. */
export const bodySizeOfAll: AnnotationTable = {
  title: 'size of request bodies, from the ConfigMap',
  start: worldOf('1k'),
  keys: {
    'ConfigMap proxy-body-size': {
      good: [
        upload('http://all.size.example.com/', 1024, 200),
        upload('http://all.size.example.com/', 1025, 413),
        upload('http://unknown.example.org/', 1024, 404),
        upload('http://unknown.example.org/', 1025, 413),
      ],
      default: [],
      neighbours: [upload('http://own.size.example.com/', MIB, 200), upload('http://bad.size.example.com/', 1025, 413)],
    },
  },
};

export const bodySizeUnreadable: AnnotationTable = {
  title: 'size of request bodies, from a ConfigMap that says nothing readable',
  start: worldOf('a lot'),
  keys: {
    'ConfigMap proxy-body-size': {
      good: [],
      bad: [upload('http://all.size.example.com/', MIB, 200), upload('http://all.size.example.com/', MIB + 1, 413)],
      default: [upload('http://own.size.example.com/', MIB + 1, 413)],
    },
  },
};
