import { describe, expect, test } from 'vitest';
import { collectorHost, operationName, ratio } from './tracing.ts';

describe('the host of a collector', () => {
  test.each([
    ['otel-collector', 'otel-collector'],
    ['Otel.Telemetry.svc', 'otel.telemetry.svc'],
    ['otel.telemetry.svc.cluster.local.', 'otel.telemetry.svc.cluster.local.'],
    ['localhost', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
    ['2001:DB8::0:1', '2001:db8::1'],
    ['[::1]', '::1'],
  ])('%s', (text, value) => {
    expect(collectorHost.decode(text)).toEqual({ value });
  });

  test.each([
    'http://otel',
    'otel:4317',
    '[::1]:4317',
    'a b',
    'a/b',
    '*',
    '127.1',
    '0x7f.1',
    '1.2.3.256',
    'fe80::1%eth0',
    '.',
  ])('not %s', (text) => {
    expect(collectorHost.decode(text)).toHaveProperty('reason');
  });
});

test.each([
  ['0', 0],
  ['1', 1],
  ['1.0', 1],
  ['0.01', 0.01],
  ['.5', 0.5],
])('the ratio %s', (text, value) => {
  expect(ratio.decode(text)).toEqual({ value });
});

test.each(['-0.1', '1.1', '1e-3', '0,1', '10%', '', 'NaN'])('no ratio: %s', (text) => {
  expect(ratio.decode(text)).toHaveProperty('reason');
});

test('the name of a span may hold variables that are known, and is not endless', () => {
  expect(operationName.decode('$request_method $service_name')).toHaveProperty('value');
  expect(operationName.decode('$nobody_knows')).toHaveProperty('reason');
  expect(operationName.decode('x'.repeat(1025))).toHaveProperty('reason');
});
