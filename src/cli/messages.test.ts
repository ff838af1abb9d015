import { expect, test, vi } from 'vitest';
import { main } from './main.ts';

const HINT = '(see ingress-xds --help)';

test.each<[string[], string]>([
  [['--no-such-flag=x', '--q'], `unknown flag --no-such-flag ${HINT}`],
  [['--ingress-clas', 'x'], `unknown flag --ingress-clas; did you mean --ingress-class? ${HINT}`],
  [['--xds-insecure'], `--xds-insecure is a flag of serve ${HINT}`],
  [['--output=xml'], `--output=xml: must be yaml or json ${HINT}`],
  [['--http-port=abc'], `--http-port=abc: must be a number ${HINT}`],
  [['--manifests'], `--manifests needs a value ${HINT}`],
])('%j is refused in one line', async (flags, message) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await main(['translate', '--manifests', 'nowhere', ...flags])).toBe(2);
    expect(written.mock.calls).toEqual([[`ingress-xds: ${message}\n`]]);
  } finally {
    written.mockRestore();
  }
});
