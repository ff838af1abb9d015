import { expect, it } from 'vitest';
import { parseLocalEndpoints } from './local-endpoints.ts';

it('reads Service ports by number and name, and adds up addresses', () => {
  const values = [
    'shop/web:http=127.0.0.1:3000',
    'web:80=[::0:1]:3000',
    'shop/web:http=10.0.0.1:1',
    'web:80=[::1]:3000',
  ];
  const { endpoints, problems } = parseLocalEndpoints(values);
  expect(problems).toEqual([]);
  expect(Object.fromEntries(endpoints)).toEqual({
    'shop/web/http': {
      always: [
        { ip: '127.0.0.1', port: 3000 },
        { ip: '10.0.0.1', port: 1 },
      ],
    },
    'default/web/80': { always: [{ ip: '::1', port: 3000 }] },
  });
});

it.each([
  ['web=127.0.0.1:80', 'expected NAMESPACE/SERVICE:PORT=IP:PORT, such as shop/web:http=127.0.0.1:3000'],
  ['', 'expected NAMESPACE/SERVICE:PORT=IP:PORT, such as shop/web:http=127.0.0.1:3000'],
  ['/web:80=127.0.0.1:80', '"" is no namespace'],
  ['Shop/web:80=127.0.0.1:80', '"Shop" is no namespace'],
  ['shop/:80=127.0.0.1:80', '"" is no name of a Service'],
  ['web:0=127.0.0.1:80', '"0" is neither the number nor the name of a Service port'],
  ['web:70000=127.0.0.1:80', '"70000" is neither the number nor the name of a Service port'],
  ['web:80=localhost:80', '"localhost" is no IPv4 address (names are not looked up)'],
  ['web:80=[127.0.0.1]:80', '"127.0.0.1" is no IPv6 address (names are not looked up)'],
  ['web:80=::1:80', '"::1:80" is no address; write IP:PORT, an IPv6 address in brackets'],
  ['web:80=127.0.0.1', '"127.0.0.1" is no address; write IP:PORT, an IPv6 address in brackets'],
  ['web:80=127.0.0.1:', '"" is no port from 1 to 65535'],
  ['web:80=127.0.0.1:080', '"080" is no port from 1 to 65535'],
])('refuses %s', (value, reason) => {
  expect(parseLocalEndpoints([value])).toEqual({ endpoints: new Map(), problems: [`--endpoint ${value}: ${reason}`] });
});
