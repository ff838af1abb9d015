import fc from 'fast-check';
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { bytes, encodeFields, message, text } from './fields.ts';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Node { string name = 1; bytes body = 2; repeated Node children = 15; }
`);
const type = root.lookupType('Node');
const fields = fc.record({ name: fc.string({ unit: 'grapheme', maxLength: 200 }), body: fc.base64String() });

test('what is written is what a protobuf library writes', () => {
  fc.assert(
    fc.property(fields, fc.array(fields, { maxLength: 3 }), (node, children) => {
      const leaf = ({ name, body }: typeof node) => [text(1, name), bytes(2, Buffer.from(body, 'base64'))];
      const written = encodeFields([...leaf(node), ...children.map((child) => message(15, leaf(child)))]);
      const toMessage = ({ name, body }: typeof node) => ({ name, body: Buffer.from(body, 'base64') });
      const expected = { ...toMessage(node), children: children.map(toMessage) };
      expect(type.toObject(type.decode(written), { bytes: String, defaults: true })).toEqual(
        type.toObject(type.decode(type.encode(expected).finish()), { bytes: String, defaults: true }),
      );
    }),
  );
});

test.each([0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])('lengths of %i bytes', (length) => {
  const body = Buffer.alloc(length, 7);
  const written = Buffer.from(encodeFields([message(15, [bytes(2, body)])]));
  const expected = type.encode({ children: [{ body }] }).finish();
  // An empty field is written too, which means the same.
  expect(length === 0 || written.equals(expected)).toBe(true);
});

test('nothing is no bytes', () => {
  expect(encodeFields([])).toHaveLength(0);
});
