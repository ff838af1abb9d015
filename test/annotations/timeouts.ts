import type { ServerResponse } from 'node:http';
import { startDeafPort } from '../envoy/behaviour/deaf-port.ts';
import { startBackend } from '../support/backend.ts';
import { endpointSlice, ingress, service } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

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

export const timeouts: AnnotationTable = {
  title: 'time-outs of backends',
  start: async () => {
    const slow = await startBackend('slow', (request, response) => answerLater(request.url ?? '/0', response));
    const deaf = await startDeafPort();
    return {
      close: async () => {
        deaf.close();
        await slow.close();
      },
      manifests: [
        service('slow'),
        slow.slice('slow'),
        service('deaf'),
        endpointSlice('deaf', ['127.0.0.1'], { port: deaf.port }),
        host('default', {}),
        host('read', { 'proxy-read-timeout': '1' }),
        host('bad-read', { 'proxy-read-timeout': '1s' }),
        host('send', { 'proxy-read-timeout': '1', 'proxy-send-timeout': '3' }),
        host('bad-send', { 'proxy-send-timeout': '1s' }),
        host('connect', { 'proxy-connect-timeout': '1', 'proxy-read-timeout': '1' }, 'deaf:80'),
        host('bad-connect', { 'proxy-connect-timeout': 'soon' }),
      ],
    };
  },
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
