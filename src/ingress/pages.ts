import type { RouteAction } from '../model/proxy-model.ts';

/** The pages of ingress-nginx, which clients and monitors may know. */
export const NOT_FOUND: RouteAction = { kind: 'respond', status: 404, body: page('404 Not Found') };
export const UNAVAILABLE: RouteAction = {
  kind: 'respond',
  status: 503,
  body: page('503 Service Temporarily Unavailable'),
};
/** `/healthz` on the default server. */
export const HEALTHY: RouteAction = { kind: 'respond', status: 200, body: '' };

function page(title: string): string {
  const lines = [
    '<html>',
    `<head><title>${title}</title></head>`,
    '<body>',
    `<center><h1>${title}</h1></center>`,
    '<hr><center>nginx</center>',
    '</body>',
    '</html>',
    '',
  ];
  return lines.join('\r\n');
}
