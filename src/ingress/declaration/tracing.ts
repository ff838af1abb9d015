/** What annotations and keys of the ConfigMap about traces have in common. */
import ipaddr from 'ipaddr.js';
import { isDnsName } from '../host.ts';
import { type BackendTemplate, parseBackendTemplate } from './backend-template.ts';
import { type Codec, codec } from './codec.ts';
import { refused } from './support.ts';

export const NGINX_DOES_NOT_TRACE = refused(
  'nginx traces with a module alone that is in no package of its usual distributions; trace in the backends, or serve with Envoy',
);

/** Lower case, or an address in canonical form; any machine, also this one: the ConfigMap is the operator's. */
export const collectorHost: Codec<string> = codec(
  'the name or the address of a host, without scheme and port',
  (text) => {
    const host = text.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    if (ipaddr.IPv4.isValidFourPartDecimal(host)) return host;
    if (ipaddr.IPv6.isValid(host) && !host.includes('%')) return ipaddr.IPv6.parse(host).toString();
    return isDnsName(host.replace(/\.$/, '')) && !ENDS_IN_NUMBER.test(host) ? host : undefined;
  },
);

/** Resolvers read such a name as an address, in many spellings. */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/;

/** From 0 to 1. */
export const ratio: Codec<number> = codec('a number from 0 to 1', (text) => {
  const value = /^(?:\d{1,3}(?:\.\d{0,15})?|\.\d{1,15})$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 1 ? value : undefined;
});

/** At most this many characters; a collector has to keep the name of each span. */
const MAX_NAME_LENGTH = 1024;

export const operationName: Codec<BackendTemplate> = {
  expects: 'text with variables of nginx',
  decode: (text) =>
    text.length > MAX_NAME_LENGTH ? { reason: 'is too long for the name of a span' } : parseBackendTemplate(text),
};
