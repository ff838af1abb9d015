/** What Envoy writes for the variables of nginx in the log of TCP and UDP services. No client chooses any of these values. */
import type { StreamListener } from '../model/proxy-model.ts';
import {
  isNeverKnown,
  type StreamLogFormat,
  type StreamLogVariableName,
  serviceInLog,
} from '../model/stream-log-format.ts';
import { literal } from './format.ts';
import { CONNECT_TIME, cel, conditional, seconds } from './log-variables.ts';

type LoggedListener = Pick<StreamListener, 'protocol' | 'cluster' | 'proxyProtocol'>;

/** The text of a format of Envoy, without the end of the line. */
export function streamLine(format: StreamLogFormat, listener: LoggedListener): string {
  return format.map((part) => (typeof part === 'string' ? literal(part) : operator(part.variable, listener))).join('');
}

const MISSING = '-';
const CLIENT_ADDRESS = '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%';
const SERVER_ADDRESS = '%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%';
const SERVER_PORT = '%DOWNSTREAM_LOCAL_PORT%';
const CLIENT_PORT = '%DOWNSTREAM_REMOTE_PORT%';

function operator(name: StreamLogVariableName, listener: LoggedListener): string {
  if (isNeverKnown(name)) return MISSING;
  const isTcp = listener.protocol === 'tcp';
  switch (name) {
    case 'bytes_received':
      return '%BYTES_RECEIVED%';
    case 'bytes_sent':
      return '%BYTES_SENT%';
    case 'connection':
      return '%CONNECTION_ID%';
    case 'hostname':
      return '%HOSTNAME%';
    // nginx says when a line is written: at the end of what it is about.
    case 'msec':
      return '%EMIT_TIME(%s.%3f)%';
    case 'time_iso8601':
      return '%EMIT_TIME(%Y-%m-%dT%H:%M:%S%Ez)%';
    case 'time_local':
      return '%EMIT_TIME(%d/%b/%Y:%H:%M:%S %z)%';
    case 'protocol':
      return listener.protocol.toUpperCase();
    case 'proxy_protocol_addr':
      return listener.proxyProtocol ? CLIENT_ADDRESS : MISSING;
    case 'proxy_protocol_port':
      return listener.proxyProtocol ? CLIENT_PORT : MISSING;
    case 'proxy_protocol_server_addr':
      return listener.proxyProtocol ? SERVER_ADDRESS : MISSING;
    case 'proxy_protocol_server_port':
      return listener.proxyProtocol ? SERVER_PORT : MISSING;
    case 'realip_remote_addr':
      return '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%';
    case 'realip_remote_port':
      return '%DOWNSTREAM_DIRECT_REMOTE_PORT%';
    case 'proxy_upstream_name':
      return literal(serviceInLog(listener));
    case 'remote_addr':
      return CLIENT_ADDRESS;
    case 'remote_port':
      return CLIENT_PORT;
    case 'server_addr':
      return SERVER_ADDRESS;
    case 'server_port':
      return SERVER_PORT;
    // Of UDP sessions Envoy knows no duration but in milliseconds.
    case 'session_time':
      return isTcp ? cel(seconds('request.duration')) : MISSING;
    // 502 is what nginx says of a connection that no endpoint has taken.
    case 'status':
      return cel(`has(upstream.${isTcp ? 'local_address' : 'address'}) ? '200' : '502'`);
    case 'upstream_addr':
      return '%UPSTREAM_HOST%';
    // Envoy counts them for TCP alone; datagrams are passed on as they are.
    case 'upstream_bytes_received':
      return isTcp ? '%UPSTREAM_WIRE_BYTES_RECEIVED%' : '%BYTES_SENT%';
    case 'upstream_bytes_sent':
      return isTcp ? '%UPSTREAM_WIRE_BYTES_SENT%' : '%BYTES_RECEIVED%';
    case 'upstream_connect_time':
      return isTcp ? conditional(CONNECT_TIME, MISSING) : MISSING;
    default:
      return MISSING;
  }
}
