import type { IncomingMessage, ServerResponse } from 'node:http';
import type { World } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { configMap, ingress, type Manifest, service } from '../support/manifests.ts';
import { type AnnotationCase, type AnnotationTable, annotated } from './table.ts';

function host(name: string, annotations: Readonly<Record<string, string>> = {}) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.retries.example.com`, paths: [{ path: '/' }] }],
  });
}

/**
 * Three endpoints that fail in the way that the path says: `/reset/2` ends the connection of the first two tries of a request,
 * `/502/1` answers one with that status, `/silent/1` never answers one. What comes through learns which try it was.
 */
async function startWorld(manifests: readonly Manifest[], build: World['build'] = {}): Promise<World> {
  const tries = new Map<string, number>();
  const fail = (request: IncomingMessage, response: ServerResponse) => {
    const [, how = '', count] = request.url?.split('/') ?? [];
    const id = String(request.headers['x-request-id']);
    const number = (tries.get(id) ?? 0) + 1;
    tries.set(id, number);
    request.resume().on('end', () => {
      const fails = number <= Number(count);
      if (fails && how === 'reset') request.socket.destroy();
      else if (!fails || how !== 'silent')
        response.writeHead(fails ? Number(how) : 200, { connection: 'close' }).end(`try ${number}`);
    });
  };
  const endpoints = await Promise.all(['a', 'b', 'c'].map((name) => startBackend(name, fail)));
  return {
    build,
    close: async () => {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
    manifests: [service('web'), ...endpoints.map((endpoint) => endpoint.slice('web')), ...manifests],
  };
}

function get(name: string, path: string, status: number, text: string, method = 'GET'): AnnotationCase {
  const body = method === 'GET' ? {} : { body: 'x' };
  return { url: `http://${name}.retries.example.com${path}`, method, status, text, because: text, ...body };
}

const post = (name: string, path: string, status: number, text: string) => get(name, path, status, text, 'POST');

export const retries: AnnotationTable = {
  title: 'retries',
  start: () =>
    startWorld([
      host('default'),
      host('codes', { 'proxy-next-upstream': 'error  timeout http_502 http_404' }),
      host('only-codes', { 'proxy-next-upstream': 'http_502' }),
      host('only-errors', { 'proxy-next-upstream': 'error', 'proxy-read-timeout': '1' }),
      host('silence', { 'proxy-next-upstream': 'timeout', 'proxy-read-timeout': '1' }),
      host('every-method', { 'proxy-next-upstream': 'error http_502 non_idempotent' }),
      host('off', { 'proxy-next-upstream': 'off' }),
      host('off-counts', { 'proxy-next-upstream': 'error off http_502' }),
      host('bad', { 'proxy-next-upstream': 'error,timeout,http_502' }),
      host('one-try', { 'proxy-next-upstream-tries': '1' }),
      host('two-tries', { 'proxy-next-upstream-tries': '2' }),
      host('no-limit', { 'proxy-next-upstream-tries': '0' }),
      host('bad-tries', { 'proxy-next-upstream-tries': 'some' }),
      host('short', { 'proxy-next-upstream-timeout': '1', 'proxy-read-timeout': '1' }),
      host('long', { 'proxy-next-upstream-timeout': '2', 'proxy-read-timeout': '1' }),
      host('bad-timeout', { 'proxy-next-upstream-timeout': '1s', 'proxy-read-timeout': '1' }),
    ]),
  keys: {
    'proxy-next-upstream': {
      good: [
        get('codes', '/502/1', 200, 'try 2'),
        get('codes', '/404/2', 200, 'try 3'),
        get('codes', '/502/3', 502, 'try 3'),
        get('codes', '/503/1', 503, 'try 1'),
        get('codes', '/reset/1', 200, 'try 2'),
        post('codes', '/502/1', 502, 'try 1'),
        get('only-codes', '/502/1', 200, 'try 2'),
        get('only-codes', '/reset/1', 502, '502 Bad Gateway'),
        get('only-errors', '/reset/1', 200, 'try 2'),
        get('only-errors', '/silent/1', 504, '504 Gateway Time-out'),
        get('silence', '/silent/1', 200, 'try 2'),
        post('every-method', '/reset/1', 200, 'try 2'),
        post('every-method', '/502/1', 200, 'try 2'),
        get('off', '/reset/1', 502, '502 Bad Gateway'),
        get('off-counts', '/502/1', 502, 'try 1'),
        get('off-counts', '/reset/1', 502, '502 Bad Gateway'),
      ],
      bad: [get('bad', '/reset/1', 200, 'try 2'), get('bad', '/502/1', 502, 'try 1')],
      default: [
        get('default', '/reset/2', 200, 'try 3'),
        get('default', '/reset/3', 502, '502 Bad Gateway'),
        get('default', '/502/1', 502, 'try 1'),
        post('default', '/reset/1', 502, '502 Bad Gateway'),
      ],
    },
    'proxy-next-upstream-tries': {
      good: [
        get('one-try', '/reset/1', 502, '502 Bad Gateway'),
        get('two-tries', '/reset/1', 200, 'try 2'),
        get('two-tries', '/reset/2', 502, '502 Bad Gateway'),
        get('no-limit', '/reset/2', 200, 'try 3'),
      ],
      bad: [get('bad-tries', '/reset/2', 200, 'try 3')],
      default: [get('default', '/reset/2', 200, 'try 3')],
    },
    'proxy-next-upstream-timeout': {
      good: [
        get('short', '/silent/1', 504, '504 Gateway Time-out'),
        get('short', '/reset/2', 200, 'try 3'),
        get('long', '/silent/1', 200, 'try 2'),
      ],
      bad: [get('bad-timeout', '/silent/1', 200, 'try 2')],
      default: [get('silence', '/silent/1', 200, 'try 2')],
    },
  },
};

const ofConfigMap = (data: Readonly<Record<string, string>>, ...manifests: readonly Manifest[]) =>
  startWorld([configMap('config', data), host('all'), ...manifests], { configMap: 'default/config' });

const set: AnnotationTable = {
  title: 'retries, from the ConfigMap',
  start: () =>
    ofConfigMap(
      {
        'proxy-next-upstream': 'error timeout http_503',
        'proxy-next-upstream-tries': '2',
        'proxy-next-upstream-timeout': '1',
        'proxy-read-timeout': '1',
        'retry-non-idempotent': 'true',
      },
      host('own', { 'proxy-next-upstream': 'http_502', 'proxy-next-upstream-tries': '3' }),
    ),
  keys: {
    'ConfigMap proxy-next-upstream': {
      good: [get('all', '/503/1', 200, 'try 2')],
      default: [],
      neighbours: [get('own', '/502/2', 200, 'try 3'), get('own', '/503/1', 503, 'try 1')],
    },
    'ConfigMap proxy-next-upstream-tries': { good: [get('all', '/reset/2', 502, '502 Bad Gateway')], default: [] },
    'ConfigMap proxy-next-upstream-timeout': { good: [get('all', '/silent/1', 504, '504 Gateway')], default: [] },
    'ConfigMap retry-non-idempotent': {
      good: [post('all', '/reset/1', 200, 'try 2')],
      default: [],
      neighbours: [post('own', '/502/1', 200, 'try 2')],
    },
  },
};

const unreadable: AnnotationTable = {
  title: 'retries, from a ConfigMap that says nothing readable',
  start: () =>
    ofConfigMap({
      'proxy-next-upstream': 'always',
      'proxy-next-upstream-tries': 'two',
      'proxy-next-upstream-timeout': '1s',
      'retry-non-idempotent': 'yes',
    }),
  keys: {
    'ConfigMap proxy-next-upstream': { good: [], bad: [get('all', '/503/1', 503, 'try 1')], default: [] },
    'ConfigMap proxy-next-upstream-tries': { good: [], bad: [get('all', '/reset/2', 200, 'try 3')], default: [] },
    'ConfigMap proxy-next-upstream-timeout': { good: [], bad: [get('all', '/reset/2', 200, 'try 3')], default: [] },
    'ConfigMap retry-non-idempotent': { good: [], bad: [post('all', '/reset/1', 502, '502 Bad')], default: [] },
  },
};

const absent: AnnotationTable = {
  title: 'retries, from a ConfigMap that says nothing about them',
  start: () => ofConfigMap({}, host('silence', { 'proxy-read-timeout': '1' })),
  keys: {
    'ConfigMap proxy-next-upstream': { good: [], default: [get('all', '/503/1', 503, 'try 1')] },
    'ConfigMap proxy-next-upstream-tries': { good: [], default: [get('all', '/reset/2', 200, 'try 3')] },
    'ConfigMap proxy-next-upstream-timeout': { good: [], default: [get('silence', '/silent/1', 200, 'try 2')] },
    'ConfigMap retry-non-idempotent': { good: [], default: [post('all', '/reset/1', 502, '502 Bad')] },
  },
};

export const retriesOfConfigMap: readonly AnnotationTable[] = [set, unreadable, absent];
