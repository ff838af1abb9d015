import type { EndpointsName } from '../model/proxy-model.ts';

/** A Service port; `port` is its number, or as written in the Ingress where the Service or its port is missing. */
export interface ServicePortKey {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
}

/** `namespace/service/port`: no part can hold a slash, so no two Service ports share a name. */
export function endpointsName({ namespace, service, port }: ServicePortKey): EndpointsName {
  return `${namespace}/${service}/${port}`;
}

export function parseEndpointsName(name: EndpointsName): ServicePortKey {
  const [namespace = '', service = '', port = ''] = name.split('/');
  return { namespace, service, port };
}
