/** Ports for HTTP. */
import { canonicalIp } from '../../ip-address.ts';
import { type Codec, codec } from '../declaration/codec.ts';
import { boolean, listOf } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { duration } from '../declaration/duration.ts';
import { approximated, HONOURED, whenOn } from '../declaration/support.ts';

const honoured = { envoy: HONOURED, nginx: HONOURED } as const;

const addresses: Codec<readonly string[]> = listOf(
  codec('an address', (text) => canonicalIp(/^\[(.*)\]$/.exec(text)?.[1] ?? text)?.ip),
  'a list of addresses',
);

export const listenerKeys = configMapKeys({
  'use-proxy-protocol': {
    codec: boolean,
    default: false,
    summary:
      'Whether connections for HTTP and HTTPS begin with a PROXY protocol header that names the client. Others are then closed.',
    example: 'true',
    envoy: approximated('The header is believed whoever sends it, also beside a `proxy-real-ip-cidr`.', whenOn),
    nginx: HONOURED,
  },
  'proxy-protocol-header-timeout': {
    codec: duration,
    default: 5,
    shownDefault: '5s',
    summary: 'How long a PROXY protocol header may take to arrive.',
    example: '10s',
    envoy: HONOURED,
    nginx: approximated(
      'A header that does not arrive in one piece is refused; nothing at all may arrive for `client-header-timeout`.',
    ),
  },
  'bind-address': {
    ...honoured,
    codec: addresses,
    default: [],
    shownDefault: '',
    summary: 'Addresses on which the ports are open, IPv4 and IPv6; all where none is given.',
    example: '192.0.2.1',
  },
  'disable-ipv6': {
    ...honoured,
    codec: boolean,
    default: false,
    summary: 'Whether the ports are not open on IPv6.',
    example: 'true',
  },
  'disable-ipv6-dns': {
    ...honoured,
    codec: boolean,
    default: false,
    summary: 'Whether the names of ExternalName Services are resolved to addresses of IPv4 alone.',
    example: 'true',
  },
});
