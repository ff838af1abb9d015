import type { Ports } from '../parity/table.ts';
import type { Received } from '../support/backend.ts';
import { send } from '../support/http-client.ts';
import { edgeWorld, HOST } from './edge.ts';
import type { AnnotationCase, AnnotationTable } from './table.ts';

const url = `http://${HOST}/`;

/** What becomes of a request without an id of its own. */
const makesId: AnnotationCase = {
  title: 'a request without an id gets one',
  run: async ({ httpPort }: Ports) => {
    const { body } = await send({ port: httpPort, host: HOST });
    const id = (JSON.parse(body) as Received).headers['x-request-id'];
    return typeof id === 'string' && /^[0-9a-f]{32}$/.test(id.replaceAll('-', ''));
  },
  expected: true,
};

const dropsUnderscores: AnnotationCase = {
  url,
  headers: { x_underscore: 'yes', 'x-dash': 'yes' },
  backend: 'web',
  received: { x_underscore: undefined, 'x-dash': 'yes' },
};

const keepsId: AnnotationCase = {
  url,
  headers: { 'x-request-id': 'mine' },
  backend: 'web',
  received: { 'x-request-id': 'mine' },
};

export const requestHeadersSet: AnnotationTable = {
  title: 'headers of requests, as the ConfigMap wants them',
  start: () => edgeWorld({ 'generate-request-id': 'false', 'enable-underscores-in-headers': 'true' }),
  keys: {
    'ConfigMap generate-request-id': {
      good: [{ url, backend: 'web', received: { 'x-request-id': undefined } }, keepsId],
      default: [],
    },
    'ConfigMap enable-underscores-in-headers': {
      good: [{ url, headers: { x_underscore: 'yes' }, backend: 'web', received: { x_underscore: 'yes' } }],
      default: [],
    },
  },
};

export const requestHeadersUnreadable: AnnotationTable = {
  title: 'headers of requests, with values that nobody can read',
  start: () => edgeWorld({ 'generate-request-id': 'off', 'enable-underscores-in-headers': 'on' }),
  keys: {
    'ConfigMap generate-request-id': { good: [], bad: [makesId], default: [] },
    'ConfigMap enable-underscores-in-headers': { good: [], bad: [dropsUnderscores], default: [] },
  },
};

export const requestHeadersDefault: AnnotationTable = {
  title: 'headers of requests, by default',
  start: () => edgeWorld({}),
  keys: {
    'ConfigMap generate-request-id': { good: [], default: [makesId, keepsId] },
    'ConfigMap enable-underscores-in-headers': { good: [], default: [dropsUnderscores] },
  },
};
