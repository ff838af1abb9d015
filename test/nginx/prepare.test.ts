import { expect, test } from 'vitest';
import { findNginx } from '../../src/nginx/binary.ts';

test('the nginx that is tested can do everything', async () => {
  const { version, hasLua, hasStream, hasBrotli } = await findNginx();
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  expect({ hasLua, hasStream, hasBrotli }).toEqual({ hasLua: true, hasStream: true, hasBrotli: true });
});
