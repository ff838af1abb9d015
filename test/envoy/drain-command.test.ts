/** The command `drain`, as a hook of a container runs it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encode } from '../../src/envoy/codec.ts';
import { runCommand, startCommand } from '../support/command.ts';
import { freePorts, type StaticEnvoy, startStaticEnvoy } from '../support/static-envoy.ts';

const LISTENER = 'envoy.config.listener.v3.Listener';

let port: number;
let envoy: StaticEnvoy;

beforeEach(async () => {
  [port = 0] = await freePorts(1);
  const bytes = encode(LISTENER, {
    name: 'http',
    address: { socket_address: { address: '127.0.0.1', port_value: port } },
    filter_chains: [
      {
        filters: [
          {
            name: 'http',
            typed_config: {
              '@type':
                'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
              stat_prefix: 'http',
              route_config: {
                virtual_hosts: [
                  {
                    name: 'all',
                    domains: ['*'],
                    routes: [{ match: { prefix: '/' }, direct_response: { status: 200 } }],
                  },
                ],
              },
              http_filters: [
                {
                  name: 'router',
                  typed_config: {
                    '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
                  },
                },
              ],
            },
          },
        ],
      },
    ],
  });
  envoy = await startStaticEnvoy([{ typeUrl: `type.googleapis.com/${LISTENER}`, name: 'http', bytes: () => bytes }]);
});
afterEach(() => envoy.stop());

const isOpen = async (): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  const opened = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
};

test('closes the listeners, and returns when the last client has gone', async () => {
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  const command = startCommand(['drain', '--admin-socket', envoy.adminSocket, '--drain-timeout', '30']);
  await expect.poll(isOpen, { timeout: 20_000 }).toBe(false);
  expect(command.output()).toBe('');
  client.destroy();
  expect(await command.exit).toBe(0);
  expect(command.output()).toBe('Drained\n');
});

test('tells that connections are left when the time is over', async () => {
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  const { code, output } = await runCommand(['drain', '--admin-socket', envoy.adminSocket, '--drain-timeout', '0']);
  client.destroy();
  expect([code, output]).toEqual([1, 'The time to drain is over; connections that are left: 1\n']);
});

test('has nothing to do where no Envoy answers', async () => {
  const { code, output } = await runCommand(['drain', '--admin-socket', '/nowhere/admin.sock']);
  expect([code, output]).toEqual([0, 'No Envoy answers at /nowhere/admin.sock\n']);
});
