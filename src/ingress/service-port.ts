import type { Service, ServicePort } from '../cluster/objects.ts';

type Protocol = 'TCP' | 'UDP';

/**
 * The Service port that an Ingress means: its text is compared with the number, the target port and the name of each port in
 * turn, and the first hit wins, as in ingress-nginx. Ports of other protocols than TCP carry no HTTP.
 */
export function findServicePort(service: Service, text: string): ServicePort | undefined {
  return portsOf(service, 'TCP').find(
    ({ port, targetPort, name }) => String(port) === text || String(targetPort) === text || name === text,
  );
}

/** The Service port that an entry of a ConfigMap of TCP or UDP services means: its number, else its name, as in ingress-nginx. */
export function findStreamPort(service: Service, text: string, protocol: Protocol): ServicePort | undefined {
  return portsOf(service, protocol).find(({ port, name }) =>
    /^\d+$/.test(text) ? String(port) === text : name === text,
  );
}

/** The Service port of a cluster or endpoints name, which carries the port's number. */
export function servicePortByNumber(
  service: Service,
  text: string,
  protocol: Protocol = 'TCP',
): ServicePort | undefined {
  return portsOf(service, protocol).find(({ port }) => String(port) === text);
}

/** The target port where it is a number; without a target port it is the Service port itself. */
export function numericTargetPort({ port, targetPort = port }: ServicePort): number | undefined {
  if (typeof targetPort === 'number') return targetPort;
  return portNumber(targetPort);
}

/** A port from its decimal text. */
export function portNumber(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

function portsOf(service: Service, wanted: Protocol): readonly ServicePort[] {
  return service.ports.filter(({ protocol }) => protocol === wanted);
}
