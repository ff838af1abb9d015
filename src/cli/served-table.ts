import {
  type ClusterReference,
  DEFAULT_CERTIFICATE,
  DEFAULT_HOST,
  type ProxyModel,
  type Route,
  type StreamListener,
  type VirtualHost,
} from '../model/proxy-model.ts';

const HEADINGS = ['HOST', 'PATH', 'SERVICE', 'TLS'];
const PORT_HEADINGS = ['PORT', 'SERVICE', 'PROXY PROTOCOL'];
/** A terminal is no place for thousands of lines. */
const MAX_ROWS = 50;

/** What is served, for people: one line per route that an Ingress made, and one per port of a TCP or UDP service. */
export function servedTable(model: ProxyModel): string {
  const rows = [...model.virtualHosts.keys()]
    .toSorted(compareHosts)
    .flatMap((host) => rowsOf(model.virtualHosts.get(host), model));
  const ports = [...model.streamListeners.keys()]
    .flatMap((name) => model.streamListeners.get(name) ?? [])
    .toSorted((a, b) => a.port - b.port || (a.protocol < b.protocol ? -1 : 1))
    .map((listener) => portRow(listener, model));
  const routes = rows.length === 0 ? 'No Ingress is served.' : tableOf(HEADINGS, rows);
  return ports.length === 0 ? routes : `${routes}\n\n${tableOf(PORT_HEADINGS, ports)}`;
}

function portRow({ protocol, port, cluster, proxyProtocol }: StreamListener, model: ProxyModel): string[] {
  const [namespace, service, servicePort] = (cluster.split('~')[0] ?? '').split('/');
  const sides = [
    ...(proxyProtocol ? ['from clients'] : []),
    ...(model.clusters.get(cluster)?.policy?.proxyProtocol ? ['to the Service'] : []),
  ];
  return [`${protocol}/${port}`, `${namespace}/${service}:${servicePort}`, sides.join(', ') || '-'];
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = rows.slice(0, MAX_ROWS);
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...shown.map((row) => row[column]?.length ?? 0)),
  );
  const lines = [headings, ...shown].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  if (rows.length > shown.length) lines.push(`… and ${rows.length - shown.length} more`);
  return lines.join('\n');
}

/** Two requests that work against what is served: one per listener where possible; none where nothing is forwarded. */
export function curlCommands(model: ProxyModel, ports: { readonly http: number; readonly https: number }): string[] {
  const routes = [...model.virtualHosts.keys()]
    .filter((host) => host !== DEFAULT_HOST)
    .toSorted(compareHosts)
    .flatMap((host) => (model.virtualHosts.get(host)?.routes ?? []).map((route) => ({ host, route })))
    .filter(({ route }) => route.origin !== undefined && route.action.kind === 'forward');
  const plain = routes.find(({ route }) => route.policy.httpsRedirect === undefined);
  const secure = routes.find(({ route }) => route.policy.httpsRedirect !== undefined) ?? routes[0];
  const commands: string[] = [];
  if (plain) {
    const url = quoted(`http://127.0.0.1:${ports.http}${pathOf(plain.route)}`);
    commands.push(`curl -H 'Host: ${nameUnder(plain.host)}' ${url}`);
  }
  if (secure) {
    const authority = `${nameUnder(secure.host)}:${ports.https}`;
    const url = quoted(`https://${authority}${pathOf(secure.route)}`);
    commands.push(`curl -k --resolve ${authority}:127.0.0.1 ${url}`);
  }
  return commands;
}

/** A host that a request can name: one label stands for the asterisk. */
function nameUnder(host: string): string {
  return host.replace(/^\*/, 'any');
}

/** As the shell and curl take it literally: curl would expand brackets and braces. */
function quoted(url: string): string {
  const literally = /[[\]{}]/.test(url) ? '-g ' : '';
  return /^[\w:/.%~@+,-]+$/.test(url) ? url : `${literally}'${url.replaceAll("'", `'\\''`)}'`;
}

function rowsOf(virtualHost: VirtualHost | undefined, model: ProxyModel): string[][] {
  if (virtualHost === undefined) return [];
  const { host, aliases = [], routes, passthrough } = virtualHost;
  const tls = (route: Route) => (passthrough ? `→ ${portOf(passthrough.cluster)}` : tlsOf(host, route, model));
  return [
    ...routes
      .filter((route) => route.origin !== undefined)
      .map((route) => [host, pathOf(route), target(route), tls(route)]),
    ...aliases.map((alias) => [alias, '', `as ${host}`]),
  ];
}

function pathOf(route: Route): string {
  return route.match.path;
}

function target(route: Route): string {
  if (route.action.kind !== 'forward') return `(answers ${route.action.status})`;
  const canaries = (route.action.canaries ?? []).map(({ cluster }) => `${portOf(cluster)} (canary)`);
  return [portOf(route.action.cluster), ...canaries].join(', ');
}

function portOf({ namespace, service, port }: ClusterReference): string {
  return `${namespace}/${service}:${port}`;
}

function tlsOf(host: string, route: Route, model: ProxyModel): string {
  if (route.policy.httpsRedirect === undefined) return '-';
  const names = model.listeners.get('https')?.serverNames ?? [];
  const wildcard = `*${host.slice(host.indexOf('.'))}`;
  const target = names.find(({ name }) => name === host) ?? names.find(({ name }) => name === wildcard);
  const certificate = target && 'certificate' in target ? target.certificate : undefined;
  return certificate === undefined || certificate === DEFAULT_CERTIFICATE ? 'default certificate' : certificate;
}

/** The default server last, the others by name. */
function compareHosts(a: string, b: string): number {
  if (a === DEFAULT_HOST || b === DEFAULT_HOST) return Number(a === DEFAULT_HOST) - Number(b === DEFAULT_HOST);
  return a < b ? -1 : Number(a > b);
}
