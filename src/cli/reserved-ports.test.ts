import { expect, test } from 'vitest';
import { reservedPorts } from './reserved-ports.ts';

test('every port that flags open beside HTTP and HTTPS is taken', () => {
  expect(reservedPorts({})).toEqual([10254]);
  const xdsAddress = ['unix:/run/xds.sock', '127.0.0.1:18000', '[::1]:18001'];
  expect(reservedPorts({ healthzPort: 10, validatingWebhook: ':8443', xdsAddress })).toEqual([10, 8443, 18000, 18001]);
});
