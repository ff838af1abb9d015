/**
 * The encoding of certificates as Envoy's TLS library wants it, which is stricter than Node's: DER alone (X.690), and no field that
 * the version does not have. https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
import { type Element, strictElementsOf } from '../der.ts';

/** Whether a certificate that Node has parsed is encoded so that Envoy can read it. */
export function isWellFormed(certificate: Uint8Array): boolean {
  return wholeCertificate(certificate);
}

type Check = (content: Uint8Array) => boolean;

interface Field {
  readonly holds: (element: Element) => boolean;
  readonly optional?: true;
}

const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const NULL = 0x05;
const OBJECT_IDENTIFIER = 0x06;
const ENUMERATED = 0x0a;
const UTF8_STRING = 0x0c;
const SEQUENCE = 0x30;
const SET = 0x31;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const UNIVERSAL_STRING = 0x1c;
const BMP_STRING = 0x1e;
/** Numbers of the universal types that consist of parts: EXTERNAL, EMBEDDED PDV, SEQUENCE, SET, CHARACTER STRING. */
const CONSTRUCTED_TYPES: ReadonlySet<number> = new Set([0x08, 0x0b, 0x10, 0x11, 0x1d]);
const CONSTRUCTED = 0x20;
const CONTEXT = 0x80;

function of(tag: number, check: Check): Field {
  return { holds: (element) => element.tag === tag && check(element.content) };
}

function optional(one: Field): Field {
  return { ...one, optional: true };
}

/** These, one after another, and nothing else. */
function sequence(...fields: readonly Field[]): Check {
  return (content) => {
    const elements = strictElementsOf(content);
    if (elements === undefined) return false;
    let next = 0;
    for (const { holds, optional } of fields) {
      const element = elements[next];
      if (element !== undefined && holds(element)) next++;
      else if (optional === undefined) return false;
    }
    return next === elements.length;
  };
}

function listOf(item: Field, least: 0 | 1): Check {
  return (content) => {
    const elements = strictElementsOf(content);
    return elements !== undefined && elements.length >= least && elements.every(item.holds);
  };
}

const isBoolean: Check = ([value, ...more]) => (value === 0 || value === 0xff) && more.length === 0;

/** Not empty, and without a first byte that says nothing. */
const isInteger: Check = ([first, second]) => {
  if (first === undefined || second === undefined) return first !== undefined;
  return !(first === 0 && second < 0x80) && !(first === 0xff && second >= 0x80);
};

/** The first byte counts the unused bits of the last one, which are 0. */
const isBitString: Check = (content) => {
  const [unused = 8] = content;
  if (unused === 0) return true;
  const last = content.at(-1) ?? 0;
  return unused < 8 && content.length > 1 && (last & ((1 << unused) - 1)) === 0;
};

/** Numbers in groups of seven bits, of which the last has no high bit; none begins with an empty group. */
const isIdentifier: Check = (content) => {
  const begins = (index: number) => ((content[index - 1] ?? 0) & 0x80) === 0;
  return content.length > 0 && begins(content.length) && !content.some((byte, index) => byte === 0x80 && begins(index));
};

function isUtf8(content: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
    return true;
  } catch {
    return false;
  }
}

/** Characters of `width` bytes, which are no halves of others. */
function isWide(content: Uint8Array, width: 2 | 4): boolean {
  if (content.length % width !== 0) return false;
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  for (let offset = 0; offset < content.length; offset += width) {
    const character = width === 2 ? view.getUint16(offset) : view.getUint32(offset);
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) return false;
    // No characters, by definition.
    if ((character & 0xfffe) === 0xfffe || (character >= 0xfdd0 && character <= 0xfdef)) return false;
  }
  return true;
}

const UTC = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:Z|[+-](?:[01]\d|2[0-3])[0-5]\d)$/;
const GENERALIZED = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

function isTime(form: RegExp): Check {
  return (content) => {
    const [, year = '', ...others] = Buffer.from(content).toString('latin1').match(form) ?? [];
    const [month = 0, day = 0, hour = 24, minute = 60, second = 60] = others.map(Number);
    const full = year.length === 4 ? Number(year) : Number(year) + (Number(year) < 50 ? 2000 : 1900);
    const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysOf(full, month);
    return isDay && hour < 24 && minute < 60 && second < 60;
  };
}

function daysOf(year: number, month: number): number {
  const date = new Date(0);
  // The last day of the month before. Years below 100 are meant as such.
  date.setUTCFullYear(year, month, 0);
  return date.getUTCDate();
}

const checks: ReadonlyMap<number, Check> = new Map<number, Check>([
  [BOOLEAN, isBoolean],
  [INTEGER, isInteger],
  [ENUMERATED, isInteger],
  [BIT_STRING, isBitString],
  [NULL, (content) => content.length === 0],
  [OBJECT_IDENTIFIER, isIdentifier],
  [UTF8_STRING, isUtf8],
  [UNIVERSAL_STRING, (content) => isWide(content, 4)],
  [BMP_STRING, (content) => isWide(content, 2)],
  [UTC_TIME, isTime(UTC)],
  [GENERALIZED_TIME, isTime(GENERALIZED)],
]);

/** A value of any type. What consists of parts is not looked into. */
const anything: Field = {
  holds: ({ tag, content }) => {
    const isUniversal = tag < 0x40;
    const hasParts = (tag & CONSTRUCTED) !== 0;
    if (isUniversal && hasParts !== CONSTRUCTED_TYPES.has(tag & 0x1f)) return false;
    return tag !== 0 && (checks.get(tag)?.(content) ?? true);
  },
};

const integer = of(INTEGER, isInteger);
const identifier = of(OBJECT_IDENTIFIER, isIdentifier);
const bitString = of(BIT_STRING, isBitString);
const algorithm = of(SEQUENCE, sequence(identifier, optional(anything)));
const nameEntry = of(SEQUENCE, sequence(identifier, anything));
const distinguishedName = of(SEQUENCE, listOf(of(SET, listOf(nameEntry, 1)), 0));
const time: Field = {
  holds: (element) => (element.tag === UTC_TIME || element.tag === GENERALIZED_TIME) && anything.holds(element),
};
const publicKey = of(SEQUENCE, sequence(algorithm, bitString));
const extension = of(
  SEQUENCE,
  sequence(
    identifier,
    optional(of(BOOLEAN, isBoolean)),
    of(OCTET_STRING, () => true),
  ),
);

/** @param more what this version has, and others have not. */
function ofVersion(version: 1 | 2 | 3, ...more: readonly Field[]): Check {
  const isVersion = ([value, ...rest]: Uint8Array) => value === version - 1 && rest.length === 0;
  const said = of(CONTEXT | CONSTRUCTED, sequence(of(INTEGER, isVersion)));
  return sequence(
    version === 1 ? optional(said) : said,
    integer,
    algorithm,
    distinguishedName,
    of(SEQUENCE, sequence(time, time)),
    distinguishedName,
    publicKey,
    ...more,
  );
}

const uniqueIdentifiers = [1, 2].map((number) => optional(of(CONTEXT | number, isBitString)));
const extensions = optional(of(CONTEXT | CONSTRUCTED | 3, sequence(of(SEQUENCE, listOf(extension, 0)))));
const bodies = [ofVersion(3, ...uniqueIdentifiers, extensions), ofVersion(2, ...uniqueIdentifiers), ofVersion(1)];
const body = of(SEQUENCE, (content) => bodies.some((body) => body(content)));
const wholeCertificate = sequence(of(SEQUENCE, sequence(body, algorithm, bitString)));
