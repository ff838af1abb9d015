import { describe, expect, it } from 'vitest';
import { countTests } from './test-report.ts';

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((test) => ({ status: test })),
});

describe('countTests', () => {
  it('counts what passed and what failed', () => {
    const report = { testResults: [file('passed', 'passed', 'passed'), file('failed', 'passed', 'failed')] };
    expect(countTests(report, 1)).toEqual({ passed: 3, failed: 1 });
  });

  it('counts a file that does not load as a failure', () => {
    const report = { testResults: [file('passed', 'passed'), file('failed')] };
    expect(countTests(report, 1)).toEqual({ passed: 1, failed: 1 });
  });

  it('counts a failed hook, after which every test of the file may still have passed', () => {
    expect(countTests({ testResults: [file('failed', 'passed')] }, 1)).toEqual({ passed: 1, failed: 1 });
  });

  it('counts an error outside any test as a failure', () => {
    expect(countTests({ testResults: [file('passed', 'passed')] }, 1)).toEqual({ passed: 1, failed: 1 });
    expect(countTests({ testResults: [file('passed', 'passed')] }, null)).toEqual({ passed: 1, failed: 1 });
  });

  it('counts a crash and a run without tests as a failure', () => {
    expect(countTests(undefined, 0)).toEqual({ passed: 0, failed: 1 });
    expect(countTests({ testResults: [] }, 0)).toEqual({ passed: 0, failed: 1 });
    expect(countTests({ testResults: [file('passed', 'skipped')] }, 0)).toEqual({ passed: 0, failed: 1 });
  });
});
