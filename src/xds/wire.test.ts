import { describe, expect, test } from 'vitest';
import { decodeResponse, encodeRequest } from '../../test/xds/support.ts';
import { decodeDeltaRequest, encodeDeltaResponse } from './wire.ts';

const node = {
  id: 'gateway-1',
  cluster: 'gateways',
  metadata: Buffer.alloc(60_000),
  userAgentName: 'envoy',
  userAgentBuildVersion: { version: { majorNumber: 1, minorNumber: 40, patch: 2 } },
};

describe('a request', () => {
  test('is decoded', () => {
    const bytes = encodeRequest({
      node,
      typeUrl: 'type.googleapis.com/x',
      resourceNamesSubscribe: ['a', 'b/ä'],
      resourceNamesUnsubscribe: ['*'],
      initialResourceVersions: { a: '1', b: '' },
      responseNonce: '7',
      errorDetail: { code: 13, message: 'no', details: [{ typeUrl: 't', value: Buffer.alloc(3) }] },
    });
    expect(decodeDeltaRequest(bytes, true)).toEqual({
      node: { id: 'gateway-1', cluster: 'gateways', userAgent: 'envoy', version: { major: 1, minor: 40, patch: 2 } },
      typeUrl: 'type.googleapis.com/x',
      subscribe: ['a', 'b/ä'],
      unsubscribe: ['*'],
      initialVersions: new Map([
        ['a', '1'],
        ['b', ''],
      ]),
      nonce: '7',
      error: { code: 13, message: 'no' },
    });
  });

  test('may be empty', () => {
    const empty = { typeUrl: '', subscribe: [], unsubscribe: [], initialVersions: new Map(), nonce: '' };
    expect(decodeDeltaRequest(encodeRequest({}), true)).toEqual(empty);
  });

  test('is decoded without its node when that is known', () => {
    expect(decodeDeltaRequest(encodeRequest({ node, typeUrl: 't' }), false)).not.toHaveProperty('node');
  });

  test.each([
    ['1.39.0', { major: 1, minor: 39, patch: 0 }],
    ['v1.41.2-dev', { major: 1, minor: 41, patch: 2 }],
    ['latest', undefined],
  ])('may give its version as text: %s', (userAgentVersion, version) => {
    const bytes = encodeRequest({ node: { id: 'a', userAgentVersion } });
    expect(decodeDeltaRequest(bytes, true).node?.version).toEqual(version);
  });

  test('with an error of code 0 is still a rejection', () => {
    expect(decodeDeltaRequest(encodeRequest({ errorDetail: {} }), true).error).toEqual({ code: 0, message: '' });
  });

  test.each([
    ['a length beyond the end', [0x12, 0x7f, 0x61]],
    ['an unknown wire type', [0x0f]],
  ])('is refused when it is broken: %s', (_, bytes) => {
    expect(() => decodeDeltaRequest(Uint8Array.from(bytes), true)).toThrow();
  });
});

describe('a response', () => {
  test('is what an independent decoder reads', () => {
    const resource = (name: string, version: string) => ({ name, version, body: () => Buffer.from(`body of ${name}`) });
    const bytes = encodeDeltaResponse({
      systemVersion: 'label',
      typeUrl: 'type.googleapis.com/x',
      nonce: '12',
      resources: [resource('a', '1'), resource('ä'.repeat(200), '2')],
      removed: ['c', 'd'],
    });
    expect(decodeResponse(bytes)).toEqual({
      systemVersion: 'label',
      typeUrl: 'type.googleapis.com/x',
      nonce: '12',
      resources: [
        { name: 'a', version: '1', body: 'body of a' },
        { name: 'ä'.repeat(200), version: '2', body: `body of ${'ä'.repeat(200)}` },
      ],
      removed: ['c', 'd'],
    });
  });
});
