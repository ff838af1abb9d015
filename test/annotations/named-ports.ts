import type { Ports } from '../parity/table.ts';
import { send } from '../support/http-client.ts';
import type { AnnotationCase } from './table.ts';

/** A redirect whose location may name a port of the proxy, which is another each time: `HTTP` or `HTTPS` is said instead. */
export function redirectCase(url: string, status: number, location: string, because = ''): AnnotationCase {
  const [, scheme, host = '', path = ''] = /^(https?):\/\/([^/]*)(.*)$/.exec(url) ?? [];
  return {
    title: `${url}: ${status} to ${location}${because === '' ? '' : `, ${because}`}`,
    run: async ({ httpPort, httpsPort }: Ports) => {
      const tls = scheme === 'https';
      const answer = await send({ port: tls ? httpsPort : httpPort, tls, host, path: path === '' ? '/' : path });
      const found = String(answer.headers['location']);
      return {
        status: answer.status,
        location: found.replace(`:${httpPort}`, ':HTTP').replace(`:${httpsPort}`, ':HTTPS'),
      };
    },
    expected: { status, location },
  };
}
