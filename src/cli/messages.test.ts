import { expect, test, vi } from 'vitest';
import { main } from './main.ts';

const HINT = '(see ingress-xds --help)';

test.each<[string[], string]>([
  [['--no-such-flag=x', '--q'], `Unknown arguments: no-such-flag, q ${HINT}`],
  [['--ingress-clas', 'x'], `Unknown argument: ingress-clas ${HINT}`],
  [['--output=xml'], `Invalid values: Argument: output, Given: "xml", Choices: "yaml", "json" ${HINT}`],
  [['--http-port=abc'], `--http-port: a port is a whole number from 1 to 65535 ${HINT}`],
  [['--manifests'], `Not enough arguments following: manifests ${HINT}`],
])('%j is refused in one line', async (flags, message) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await main(['translate', '--manifests', 'nowhere', ...flags])).toBe(2);
    expect(written.mock.calls).toEqual([[`ingress-xds: ${message}\n`]]);
  } finally {
    written.mockRestore();
  }
});
