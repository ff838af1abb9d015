/** A name server on loopback that answers from a table, for names that exist nowhere else. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface DnsRecord {
  readonly addresses: readonly string[];
  /** Seconds; 1 if not given. */
  readonly ttl?: number;
}

export interface DnsServer {
  readonly address: { readonly ip: string; readonly port: number };
  /** Names that were asked for so far, lower-cased, one per question. */
  readonly questions: readonly string[];
  /** `silent`: questions are not answered. Without a record the name does not exist. */
  set(name: string, record: DnsRecord | 'silent' | undefined): void;
  close(): Promise<void>;
}

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;
const CLASS_IN = 1;
/** Response, recursion desired and available. */
const FLAGS = 0x8180;
const NAME_ERROR = 3;
/** A pointer to the name of the question. */
const QUESTION_NAME = 0xc000 | HEADER_BYTES;

/** @param port 53 for programs that look into /etc/resolv.conf; any free one if not given */
export async function startDnsServer(port = 0): Promise<DnsServer> {
  const records = new Map<string, DnsRecord | 'silent'>();
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, peer) => {
    const { name, type, end } = readQuestion(query);
    questions.push(name);
    const record = records.get(name);
    if (record !== 'silent') socket.send(reply(query.subarray(0, end), type, record), peer.port, peer.address);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: { ip: '127.0.0.1', port: socket.address().port },
    questions,
    set: (name, record) => {
      if (record === undefined) records.delete(name);
      else records.set(name, record);
    },
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** The one question of a query. `end`: the byte after it. */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let offset = HEADER_BYTES;
  for (let length = query.readUInt8(offset); length > 0; length = query.readUInt8(offset)) {
    labels.push(query.toString('latin1', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(offset + 1), end: offset + 5 };
}

/** @param query header and question; whatever the query holds beyond it (EDNS) is left out */
function reply(query: Buffer, type: number, record: DnsRecord | undefined): Buffer {
  const addresses = (record?.addresses ?? []).filter((address) => type === (isIPv4(address) ? TYPE_A : TYPE_AAAA));
  const head = Buffer.from(query);
  head.writeUInt16BE(record === undefined ? FLAGS | NAME_ERROR : FLAGS, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt16BE(0, 8);
  head.writeUInt16BE(0, 10);
  return Buffer.concat([head, ...addresses.map((address) => answer(type, record?.ttl ?? 1, address))]);
}

function answer(type: number, ttl: number, address: string): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray());
  const fields = Buffer.alloc(12);
  fields.writeUInt16BE(QUESTION_NAME, 0);
  fields.writeUInt16BE(type, 2);
  fields.writeUInt16BE(CLASS_IN, 4);
  fields.writeUInt32BE(ttl, 6);
  fields.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([fields, bytes]);
}
