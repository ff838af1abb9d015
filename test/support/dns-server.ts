import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const TYPE_A = 1;
const HEADER_BYTES = 12;

/**
 * A DNS server on 127.0.0.1 that knows IPv4 addresses for some names. It never answers questions for names that begin with
 * `silent.`; every other name exists, without an address.
 */
export async function startDnsServer(
  addresses: Readonly<Record<string, string>>,
): Promise<{ port: number; stop(): void }> {
  const socket = createSocket('udp4');
  socket.on('message', (query, peer) => {
    const { name, type, end } = readQuestion(query);
    if (name.startsWith('silent.')) return;
    const address = type === TYPE_A ? addresses[name] : undefined;
    socket.send(answer(query.subarray(0, end), address), peer.port, peer.address);
  });
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  return { port: portOf(socket), stop: () => void socket.close() };
}

function portOf(socket: Socket): number {
  return socket.address().port;
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  while (query[at]! > 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
    at += 1 + query[at]!;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** https://www.rfc-editor.org/rfc/rfc1035#section-4.1 */
function answer(question: Buffer, address: string | undefined): Buffer {
  const message = Buffer.from(question);
  message.writeUInt16BE(0x8180, 2); // a response, recursion done, no error
  message.writeUInt16BE(address === undefined ? 0 : 1, 6);
  message.fill(0, 8, HEADER_BYTES);
  if (address === undefined) return message;
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc00c, 0); // the name of the question
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4); // class IN
  record.writeUInt32BE(60, 6); // seconds to live
  record.writeUInt16BE(4, 10);
  record.set(address.split('.').map(Number), 12);
  return Buffer.concat([message, record]);
}
