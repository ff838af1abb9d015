/** One request over HTTP/2 with fields that no client library sends. */
import { connect } from 'node:tls';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const FRAME_HEAD = 9;
const Frame = { headers: 1, resetStream: 3, settings: 4, goAway: 7 } as const;
const END_STREAM = 1;
const END_HEADERS = 4;

/** Resolves with all that was received until the answer was whole or refused. Fields go out in their order, as they are. */
export function sendRawHttp2(
  port: number,
  fields: readonly (readonly [name: string, value: string])[],
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  let received = Buffer.alloc(0);
  socket.setTimeout(15_000, () => socket.destroy(new Error('no answer over HTTP/2')));
  socket.on('secureConnect', () => {
    const block = Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
    socket.write(PREFACE);
    socket.write(frame(Frame.settings, 0, 0, Buffer.alloc(0)));
    socket.write(frame(Frame.headers, END_STREAM | END_HEADERS, 1, block));
  });
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (isOver(received)) socket.destroy();
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(received.toString('latin1')));
  return promise;
}

/** HPACK: a literal without Huffman coding. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length > 126) throw new Error('a length of one byte only');
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function isOver(received: Buffer): boolean {
  for (let at = 0; at + FRAME_HEAD <= received.length; ) {
    const [length, type, flags] = [received.readUIntBE(at, 3), received.readUInt8(at + 3), received.readUInt8(at + 4)];
    const end = at + FRAME_HEAD + length;
    if (end > received.length) return false;
    const isOfRequest = received.readUInt32BE(at + 5) === 1;
    if (type === Frame.goAway || type === Frame.resetStream) return true;
    if (isOfRequest && type <= Frame.headers && (flags & END_STREAM) !== 0) return true;
    at = end;
  }
  return false;
}
