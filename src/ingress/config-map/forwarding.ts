/** What requests say about their way here, and who is believed. */
import { codec } from '../declaration/codec.ts';
import { boolean } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { networks } from '../declaration/networks.ts';
import { approximated, HONOURED, whenOn } from '../declaration/support.ts';

const honoured = { envoy: HONOURED, nginx: HONOURED } as const;

const headerName = codec('the name of a header', (text) => (/^[A-Za-z0-9-]{1,100}$/.test(text) ? text : undefined));

export const forwardingKeys = configMapKeys({
  'use-forwarded-headers': {
    codec: boolean,
    default: false,
    summary:
      'Whether the address of a client is taken from `forwarded-for-header`, and `X-Forwarded-Proto`, `-Host` and `-Port` count: for redirects to https, and for what backends see. Only for a proxy that nobody reaches but the load balancer in front of it.',
    example: 'true',
    envoy: approximated(
      'A list of more than 20 addresses, or one with anything but addresses in it, does not count.',
      whenOn,
    ),
    nginx: HONOURED,
  },
  'enable-real-ip': {
    ...honoured,
    codec: boolean,
    default: false,
    summary: 'Whether the address of a client is taken from `forwarded-for-header`, and nothing else is believed.',
    example: 'true',
  },
  'proxy-real-ip-cidr': {
    ...honoured,
    codec: networks,
    default: ['0.0.0.0/0', '::/0'],
    shownDefault: '0.0.0.0/0',
    whenUnreadable: { value: [], means: 'nobody is believed' },
    summary:
      'Peers that may name the address of a client, in a header or by the PROXY protocol. In a list of addresses those of such peers are passed over, from the right.',
    example: '10.0.0.0/8,192.0.2.7',
    envoy: approximated('Addresses of the PROXY protocol are taken from every peer.'),
  },
  'forwarded-for-header': {
    ...honoured,
    codec: headerName,
    default: 'X-Forwarded-For',
    summary: 'The header that holds the address of a client.',
    example: 'CF-Connecting-IP',
  },
  'compute-full-forwarded-for': {
    codec: boolean,
    default: false,
    summary:
      'Whether backends see in `X-Forwarded-For` what the request said and then the peer, instead of the client alone; only with `use-forwarded-headers`.',
    example: 'true',
    envoy: approximated(
      'With another `forwarded-for-header` it is the content of that header which the peer follows.',
      whenOn,
    ),
    nginx: HONOURED,
  },
  'forwarded-host-header': {
    ...honoured,
    codec: headerName,
    default: 'X-Forwarded-Host',
    summary: 'The header that backends see as `X-Original-Forwarded-Host`.',
    example: 'X-Original-Host',
  },
  'forwarded-for-proxy-protocol-header': {
    codec: headerName,
    default: 'X-Forwarded-For-Proxy-Protocol',
    summary:
      'In ingress-nginx the name of a header inside the proxy, for `use-proxy-protocol` together with `use-forwarded-headers`.',
    example: 'X-Forwarded-For-Proxy-Protocol',
    envoy: approximated('No such header is needed to follow a list of addresses from the one of the PROXY protocol.'),
    nginx: approximated('With both, the address is that of the PROXY protocol.'),
  },
});
