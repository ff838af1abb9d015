import type { ServerResponse } from 'node:http';
import { startDeafPort } from '../envoy/behaviour/deaf-port.ts';
import type { World } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { configMap, endpointSlice, ingress, service } from '../support/manifests.ts';
import { type AnnotationCase, type AnnotationTable, annotated, type KeyCases } from './table.ts';

function host(name: string, annotations: Readonly<Record<string, string>>, to = 'slow:80') {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.timeouts.example.com`, paths: [{ path: '/', service: to }] }],
  });
}

/** Answers after as many milliseconds as the path says. */
function answerLater(url: string, response: ServerResponse): void {
  setTimeout(() => response.end('late'), Number(url.slice(1)));
}

async function startWorld(data?: Readonly<Record<string, string>>): Promise<World> {
  const slow = await startBackend('slow', (request, response) => answerLater(request.url ?? '/0', response));
  const deaf = await startDeafPort();
  return {
    ...(data !== undefined && { build: { configMap: 'default/config' } }),
    close: async () => {
      deaf.close();
      await slow.close();
    },
    manifests: [
      ...(data === undefined ? [] : [configMap('config', data)]),
      service('slow'),
      slow.slice('slow'),
      service('deaf'),
      endpointSlice('deaf', ['127.0.0.1'], { port: deaf.port }),
      host('default', {}),
      host('deaf', {}, 'deaf:80'),
      host('read', { 'proxy-read-timeout': '1' }),
      host('bad-read', { 'proxy-read-timeout': '1s' }),
      host('send', { 'proxy-read-timeout': '1', 'proxy-send-timeout': '3' }),
      host('bad-send', { 'proxy-send-timeout': '1s' }),
      host('connect', { 'proxy-connect-timeout': '1', 'proxy-read-timeout': '1' }, 'deaf:80'),
      host('bad-connect', { 'proxy-connect-timeout': 'soon' }),
    ],
  };
}

export const timeouts: AnnotationTable = {
  title: 'time-outs of backends',
  start: () => startWorld(),
  keys: {
    'proxy-read-timeout': {
      good: [
        { url: 'http://read.timeouts.example.com/0', text: 'late' },
        { url: 'http://read.timeouts.example.com/4000', method: 'POST', status: 504 },
      ],
      bad: [{ url: 'http://bad-read.timeouts.example.com/1300', text: 'late' }],
      default: [{ url: 'http://default.timeouts.example.com/1300', text: 'late' }],
    },
    'proxy-send-timeout': {
      good: [{ url: 'http://send.timeouts.example.com/4000', method: 'POST', status: 504 }],
      bad: [{ url: 'http://bad-send.timeouts.example.com/1300', text: 'late' }],
      default: [{ url: 'http://default.timeouts.example.com/1300', text: 'late' }],
    },
    'proxy-connect-timeout': {
      good: [{ url: 'http://connect.timeouts.example.com/', method: 'POST', status: 504 }],
      bad: [{ url: 'http://bad-connect.timeouts.example.com/0', text: 'late' }],
      default: [{ url: 'http://default.timeouts.example.com/0', text: 'late' }],
    },
  },
};

const HOST = 'http://default.timeouts.example.com';
const late = (milliseconds: number): AnnotationCase => ({ url: `${HOST}/${milliseconds}`, text: 'late' });
const silent: AnnotationCase = { url: `${HOST}/4000`, method: 'POST', status: 504 };

function ofConfigMap(kind: keyof KeyCases, data: Readonly<Record<string, string>>, cases: readonly AnnotationCase[]) {
  const keys = Object.keys(data).map((key) => [`ConfigMap ${key}`, { good: [], default: [], [kind]: cases }]);
  return {
    title: `time-outs of backends, from the ConfigMap, ${kind}: ${Object.keys(data).join(', ')}`,
    start: () => startWorld(data),
    keys: Object.fromEntries(keys),
  } satisfies AnnotationTable;
}

const unreadable = { 'proxy-connect-timeout': '1s', 'proxy-read-timeout': 'soon', 'proxy-send-timeout': '-1' };

export const timeoutsOfConfigMap: readonly AnnotationTable[] = [
  ofConfigMap('good', { 'proxy-read-timeout': '1', 'proxy-send-timeout': '3' }, [late(0), silent]),
  ofConfigMap('good', { 'proxy-connect-timeout': '1', 'proxy-read-timeout': '30' }, [
    { url: 'http://deaf.timeouts.example.com/', method: 'POST', status: 504 },
  ]),
  ofConfigMap('bad', unreadable, [late(1300)]),
  {
    title: 'time-outs of backends, from a ConfigMap that says nothing about them',
    start: () => startWorld({}),
    keys: Object.fromEntries(
      Object.keys(unreadable).map((key) => [`ConfigMap ${key}`, { good: [], default: [late(1300)] }]),
    ),
  },
];
