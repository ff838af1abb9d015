/** TCP and UDP services. */
import { boolean, integer } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { duration } from '../declaration/duration.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const streamKeys = configMapKeys({
  'proxy-stream-timeout': {
    codec: duration,
    default: 600,
    shownDefault: '600s',
    summary: 'How long both sides of a connection of a TCP or UDP service may be silent.',
    example: '1h',
    envoy: approximated('A UDP session ends after 60 s of silence at the latest, since it holds a socket.'),
    nginx: HONOURED,
  },
  'proxy-stream-next-upstream': {
    codec: boolean,
    default: true,
    summary: 'Whether a TCP connection that an endpoint does not accept goes to another one.',
    example: 'false',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'proxy-stream-next-upstream-tries': {
    codec: integer({ of: 'tries' }),
    default: 3,
    summary: 'How many endpoints are tried for a TCP connection; 0 stands for ten.',
    example: '5',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'proxy-stream-next-upstream-timeout': {
    codec: duration,
    default: 600,
    shownDefault: '600s',
    summary: 'No further endpoint is tried for a TCP connection later than that.',
    example: '30s',
    envoy: approximated('Tries are bounded by their number, and each by `proxy-connect-timeout`.'),
    nginx: HONOURED,
  },
  'proxy-stream-responses': {
    codec: integer({ of: 'datagrams' }),
    default: 1,
    summary: 'After how many datagrams of its backend a UDP session ends; 0: none is expected.',
    example: '2',
    envoy: approximated('Datagrams are passed on whatever their number, until the session has been silent for 60 s.'),
    nginx: HONOURED,
  },
});
