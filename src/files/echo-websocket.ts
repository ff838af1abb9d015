/** Just enough of RFC 6455 to send every message back. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** RFC 6455 §1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Frames with a larger payload end the connection; bytes. */
const MAX_PAYLOAD = 1024 * 1024;

const opcodes = { close: 8, ping: 9, pong: 10 } as const;

interface Frame {
  /** The first byte: the FIN bit, reserved bits and opcode. */
  readonly head: number;
  readonly payload: Buffer;
  readonly rest: Buffer;
}

export function isWebSocketRequest(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && request.headers['sec-websocket-key'] !== undefined;
}

/** Accepts the upgrade and sends each frame back. `head` is what came after the request, `headers` are header lines to add. */
export function echoWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  headers: readonly string[],
): void {
  const key = `${request.headers['sec-websocket-key']}${HANDSHAKE_GUID}`;
  const accept = createHash('sha1').update(key).digest('base64');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: Upgrade'];
  socket.write(`${[...lines, `sec-websocket-accept: ${accept}`, ...headers].join('\r\n')}\r\n\r\n`);
  let pending: Buffer = Buffer.alloc(0);
  const take = (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (let frame = readFrame(pending); frame !== undefined; frame = readFrame(pending)) {
      if (frame === 'invalid') {
        socket.destroy();
        return;
      }
      pending = frame.rest;
      reply(socket, frame);
    }
  };
  take(head);
  socket.on('data', take);
  socket.on('end', () => socket.end());
}

function reply(socket: Duplex, { head, payload }: Frame): void {
  const opcode = head & 0x0f;
  if (opcode === opcodes.pong) return;
  const answer = opcode === opcodes.ping ? (head & 0xf0) | opcodes.pong : head;
  socket.write(Buffer.concat([Buffer.from([answer]), payloadLength(payload.length), payload]));
  if (opcode === opcodes.close) socket.end();
}

/** `undefined` as long as the frame is not complete. Frames of clients are always masked. */
function readFrame(buffer: Buffer): Frame | 'invalid' | undefined {
  if (buffer.length < 2) return undefined;
  const second = buffer.readUInt8(1);
  if ((second & 0x80) === 0) return 'invalid';
  const lengthBytes = { 126: 2, 127: 8 }[second & 0x7f] ?? 0;
  const maskAt = 2 + lengthBytes;
  if (buffer.length < maskAt + 4) return undefined;
  const length = lengthBytes === 0 ? second & 0x7f : readLength(buffer, lengthBytes);
  if (length > MAX_PAYLOAD) return 'invalid';
  const end = maskAt + 4 + length;
  if (buffer.length < end) return undefined;
  const mask = buffer.subarray(maskAt, maskAt + 4);
  const payload = Buffer.from(buffer.subarray(maskAt + 4, end).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  return { head: buffer.readUInt8(0), payload, rest: buffer.subarray(end) };
}

function readLength(buffer: Buffer, bytes: number): number {
  return bytes === 2 ? buffer.readUInt16BE(2) : Number(buffer.readBigUInt64BE(2));
}

function payloadLength(length: number): Buffer {
  if (length < 126) return Buffer.from([length]);
  const bytes = Buffer.alloc(length < 65536 ? 3 : 9);
  bytes.writeUInt8(length < 65536 ? 126 : 127, 0);
  if (length < 65536) bytes.writeUInt16BE(length, 1);
  else bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}
