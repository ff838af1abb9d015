import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Diagnostic } from '../model/diagnostic.ts';
import { describeReading, reportStart } from './start-report.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('says every ten seconds what is waited for, and nothing more once it is ready', () => {
  const told: string[] = [];
  let current = { ready: false, reason: 'no answer' };
  const { signal } = new AbortController();
  reportStart({ current: () => current, tell: (message) => told.push(message), signal });
  vi.advanceTimersByTime(9_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  current = { ready: false, reason: 'waiting for Envoy' };
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual(['not ready yet: no answer', 'not ready yet: waiting for Envoy']);
  current = { ready: true, reason: '' };
  vi.advanceTimersByTime(10_000);
  current = { ready: false, reason: 'something later' };
  vi.advanceTimersByTime(60_000);
  expect(told).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});

test('says nothing once the end begins', () => {
  const told: string[] = [];
  const ending = new AbortController();
  const current = () => ({ ready: false, reason: 'no answer' });
  reportStart({ current, tell: (message) => told.push(message), signal: ending.signal });
  ending.abort();
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([]);
});

test.each<[Diagnostic['code'][], string]>([
  [[], 'reading the objects'],
  [['IngressRefused'], 'reading the objects'],
  [['IngressRefused', 'ApiServerUnavailable'], 'about ApiServerUnavailable'],
  [['ApiServerRefuses'], 'about ApiServerRefuses'],
])('with %j a start waits for: %s', (codes, reason) => {
  const diagnostics = codes.map<Diagnostic>((code) => ({ severity: 'warning', code, message: `about ${code}` }));
  expect(describeReading(diagnostics)).toBe(reason);
});
