import { host, isKept, isPaced, longHeader, startBodies } from './bodies.ts';
import type { AnnotationCase, AnnotationTable } from './table.ts';

const MIB = 1024 ** 2;

function download(name: string): AnnotationCase {
  return { url: `http://${name}.bodies.example.com/download/100000`, text: 'xx end' };
}

/** A body that comes chunked, as the backend sees it. */
function chunked(name: string, how: 'chunked' | 'declared'): AnnotationCase {
  return {
    url: `http://${name}.bodies.example.com/`,
    method: 'POST',
    headers: { 'transfer-encoding': 'chunked' },
    body: 'x'.repeat(100_000),
    text: '100000 bytes, chunked',
    ...(how === 'declared' && { differs: 'chunkedBody', nginx: { text: '100000 bytes, declared' } }),
  };
}

/** A body whose first try fails. */
function again(name: string, bytes: number, isKept = true): AnnotationCase {
  const text = `${bytes} bytes, declared, try 2`;
  const request = { url: `http://${name}.bodies.example.com/reset/1`, method: 'PUT', body: 'x'.repeat(bytes) };
  if (isKept) return { ...request, text, because: `${bytes} bytes, sent again` };
  return { ...request, status: 502, because: `${bytes} bytes`, differs: 'largeBodyRetry', nginx: { text } };
}

const UNREADABLE = {
  'proxy-request-buffering': 'no',
  'proxy-buffering': 'true',
  'proxy-buffer-size': '128kb',
  'proxy-buffers-number': '0',
  'proxy-busy-buffers-size': 'all',
  'proxy-max-temp-file-size': '-1',
  'proxy-http-version': '2',
  'limit-rate': '50k',
};

export const buffering: AnnotationTable = {
  title: 'buffers for bodies',
  start: () =>
    startBodies([
      host('default', { 'proxy-body-size': '0' }),
      host('memory', { 'client-body-buffer-size': '4m', 'proxy-body-size': '0' }),
      host('most', { 'client-body-buffer-size': '1000m', 'proxy-body-size': '0' }),
      host('too-much', { 'client-body-buffer-size': '1g', 'proxy-body-size': '0' }),
      host('bad-memory', { 'client-body-buffer-size': 'much' }),
      host('streamed', { 'proxy-request-buffering': 'off' }),
      host('ahead', {
        'proxy-buffering': 'on',
        'proxy-buffers-number': '16',
        'proxy-busy-buffers-size': '32k',
        'proxy-max-temp-file-size': '0',
      }),
      host('odd', {
        'proxy-buffering': 'on',
        'proxy-buffer-size': '2k',
        'proxy-buffers-number': '1',
        'proxy-busy-buffers-size': '1k',
        'proxy-max-temp-file-size': '1k',
      }),
      host('much-busy', { 'proxy-busy-buffers-size': '1m' }),
      host('headers', { 'proxy-buffer-size': '128k' }),
      host('old', { 'proxy-http-version': '1.0' }, 'other'),
      host('new', { 'proxy-http-version': '1.1' }),
      host('paced', { 'limit-rate': '50', 'proxy-buffering': 'on' }),
      host('paced-later', { 'limit-rate': '50', 'limit-rate-after': '100', 'proxy-buffering': 'on' }),
      host('bad', UNREADABLE),
    ]),
  keys: {
    'client-body-buffer-size': {
      good: [again('memory', 2 * MIB)],
      bad: [{ url: 'http://bad-memory.bodies.example.com/', status: 404 }],
      default: [again('default', MIB), again('default', 2 * MIB, false)],
      neighbours: [again('too-much', 2 * MIB, false), again('most', 15 * MIB), again('most', 17 * MIB, false)],
    },
    'proxy-request-buffering': {
      good: [chunked('streamed', 'chunked')],
      bad: [chunked('bad', 'declared')],
      default: [chunked('default', 'declared')],
    },
    'proxy-buffering': {
      good: [download('ahead')],
      bad: [download('bad')],
      default: [download('default')],
    },
    'proxy-buffer-size': {
      good: [longHeader('headers', 100_000, 200)],
      bad: [longHeader('bad', 2000, 200), longHeader('bad', 100_000, 502)],
      default: [
        longHeader('default', 2000, 200),
        { ...longHeader('default', 10_000, 200), differs: 'largeAnswerHeaders', nginx: 502 },
        longHeader('default', 100_000, 502),
      ],
      neighbours: [longHeader('odd', 1000, 200), download('odd')],
    },
    'proxy-buffers-number': {
      good: [download('ahead'), download('odd')],
      bad: [download('bad')],
      default: [download('default')],
    },
    'proxy-busy-buffers-size': {
      good: [download('ahead'), download('odd'), download('much-busy')],
      bad: [download('bad')],
      default: [download('default')],
    },
    'proxy-max-temp-file-size': {
      good: [download('ahead'), download('odd')],
      bad: [download('bad')],
      default: [download('default')],
    },
    'proxy-http-version': {
      good: [isKept('old', false), isKept('new', true)],
      bad: [isKept('bad', true)],
      default: [isKept('default', true)],
    },
    'limit-rate': {
      good: [isPaced('paced', 150, true)],
      bad: [isPaced('bad', 150, false)],
      default: [isPaced('default', 150, false)],
    },
    'limit-rate-after': {
      good: [{ ...isPaced('paced-later', 90, true), differs: 'limitRateAfter', nginx: false }],
      default: [isPaced('paced', 150, true)],
    },
  },
};

const set: AnnotationTable = {
  title: 'buffers for bodies, from the ConfigMap',
  start: () =>
    startBodies([host('all'), host('own', { 'limit-rate': '0', 'proxy-http-version': '1.1' }, 'other')], {
      'proxy-request-buffering': 'off',
      'proxy-buffering': 'on',
      'proxy-buffer-size': '128k',
      'proxy-buffers-number': '8',
      'proxy-busy-buffers-size': '256k',
      'proxy-max-temp-file-size': '0',
      'proxy-http-version': '1.0',
      'limit-rate': '50',
    }),
  keys: {
    'ConfigMap proxy-request-buffering': { good: [chunked('own', 'chunked')], default: [] },
    'ConfigMap proxy-buffering': { good: [download('own')], default: [] },
    'ConfigMap proxy-buffer-size': { good: [longHeader('all', 100_000, 200)], default: [] },
    'ConfigMap proxy-buffers-number': { good: [download('own')], default: [] },
    'ConfigMap proxy-busy-buffers-size': { good: [download('own')], default: [] },
    'ConfigMap proxy-max-temp-file-size': { good: [download('own')], default: [] },
    'ConfigMap proxy-http-version': {
      good: [isKept('all', false)],
      default: [],
      neighbours: [isKept('own', true)],
    },
    'ConfigMap limit-rate': {
      good: [isPaced('all', 150, true)],
      default: [],
      neighbours: [isPaced('own', 150, false)],
    },
  },
};

/** With values that nobody can read it is as without them. */
function byDefault(kind: 'bad' | 'default', data: Readonly<Record<string, string>>): AnnotationTable {
  const rows = (...cases: readonly AnnotationCase[]) => ({ good: [], default: [], [kind]: cases });
  return {
    title: `buffers for bodies, from a ConfigMap that says nothing ${kind === 'bad' ? 'readable' : 'about them'}`,
    start: () => startBodies([host('all', { 'proxy-body-size': '0' })], data),
    keys: {
      'ConfigMap client-body-buffer-size': rows(again('all', MIB), again('all', 2 * MIB, false)),
      'ConfigMap proxy-request-buffering': rows(chunked('all', 'declared')),
      'ConfigMap proxy-buffering': rows(download('all')),
      'ConfigMap proxy-buffer-size': rows(longHeader('all', 2000, 200), longHeader('all', 100_000, 502)),
      'ConfigMap proxy-buffers-number': rows(download('all')),
      'ConfigMap proxy-busy-buffers-size': rows(download('all')),
      'ConfigMap proxy-max-temp-file-size': rows(download('all')),
      'ConfigMap proxy-http-version': rows(isKept('all', true)),
      'ConfigMap limit-rate': rows(isPaced('all', 150, false)),
    },
  };
}

const memory: AnnotationTable = {
  title: 'memory for bodies, from the ConfigMap',
  start: () => startBodies([host('all', { 'proxy-body-size': '0' })], { 'client-body-buffer-size': '4m' }),
  keys: { 'ConfigMap client-body-buffer-size': { good: [again('all', 2 * MIB)], default: [] } },
};

export const bufferingOfConfigMap: readonly AnnotationTable[] = [
  set,
  memory,
  byDefault('bad', { ...UNREADABLE, 'client-body-buffer-size': 'much' }),
  byDefault('default', {}),
];
