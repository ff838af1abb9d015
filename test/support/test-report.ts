/** The part of Vitest's JSON report that is read. */
export interface VitestReport {
  readonly testResults: readonly {
    /** `failed` also when the file could not be loaded, then without any assertion. */
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/**
 * Counts tests. What went wrong outside a test counts as one failure: a file that does not load, an error that no test
 * caught, a crash (no report), a run without tests.
 */
export function countTests(
  report: VitestReport | undefined,
  exitCode: number | null,
): { readonly passed: number; readonly failed: number } {
  const files = report?.testResults ?? [];
  const statuses = files.flatMap((file) => file.assertionResults.map((test) => test.status));
  const passed = statuses.filter((status) => status === 'passed').length;
  const failedTests = statuses.filter((status) => status === 'failed').length;
  const failedFiles = files.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const failed = failedTests + failedFiles;
  const wrong = report === undefined || exitCode !== 0 || passed + failed === 0;
  return { passed, failed: failed === 0 && wrong ? 1 : failed };
}
