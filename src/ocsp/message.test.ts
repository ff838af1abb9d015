import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Responder, type ResponderBehaviour, startResponder } from '../../test/support/ocsp.ts';
import { makeAuthority, makePair } from '../../test/support/pki.ts';
import { createAsk } from './ask.ts';
import { type GoodAnswer, type Question, questionAbout, readAnswer } from './message.ts';

const HOUR_MS = 3_600_000;
const ask = createAsk({ isAllowed: () => true });
let responder: Responder;
let question: Question;

beforeAll(async () => {
  responder = await startResponder();
  question = questionAbout(Buffer.from((await responder.issue('shop.example.com')).chain)) as Question;
});
afterAll(() => responder.close());

async function answerTo(behaviour: ResponderBehaviour) {
  responder.behaviour = behaviour;
  return readAnswer(await ask(question), question, Date.now());
}

test('a good answer says how long it holds', async () => {
  const now = Date.now();
  const answer = await answerTo({});
  expect(answer).toEqual({
    response: expect.any(Uint8Array),
    thisUpdate: expect.any(Number),
    nextUpdate: expect.any(Number),
  });
  const { thisUpdate, nextUpdate } = answer as { thisUpdate: number; nextUpdate: number };
  expect(Math.abs(thisUpdate - (now - HOUR_MS))).toBeLessThan(60_000);
  expect(Math.abs(nextUpdate - (now + 24 * HOUR_MS))).toBeLessThan(60_000);
  expect(await answerTo({ nextUpdate: null })).not.toHaveProperty('nextUpdate');
  expect(await answerTo({ signer: 'delegate' })).toHaveProperty('nextUpdate');
});

test.each<[string, ResponderBehaviour, string | RegExp]>([
  ['revoked', { status: 'revoked' }, 'says that the certificate is revoked'],
  ['unknown', { status: 'unknown' }, 'does not know the certificate'],
  ['old', { thisUpdate: -48, nextUpdate: -24 }, /^gives an answer that held until 20/],
  ['of the future', { thisUpdate: 1 }, 'gives an answer of the future'],
  ['about another certificate', { aboutAnother: true }, 'answers about other certificates'],
  ['signed by a stranger of the same name', { signer: 'stranger' }, /not signed/],
  ['signed by another subject of the authority', { signer: 'subject' }, /not signed/],
  ['no answer', { raw: { body: Buffer.from('<html>') } }, 'gives an answer that is none'],
  ['empty', { raw: { body: Buffer.alloc(0) } }, 'gives an answer that is none'],
  // tryLater
  ['an error', { raw: { body: Buffer.from('30030a0103', 'hex') } }, 'answers tryLater'],
])('an answer that is %s does not count', async (_, behaviour, reason) => {
  expect(await answerTo(behaviour)).toEqual({
    reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
  });
});

test('of an answer that was changed on its way at most the same comes out', async () => {
  for (const signer of ['authority', 'delegate'] as const) {
    responder.behaviour = { signer };
    const answer = Buffer.from(await ask(question));
    const { response } = readAnswer(answer, question, Date.now()) as GoodAnswer;
    expect(Buffer.from(response).equals(answer)).toBe(true);
    for (let at = 0; at < answer.length; at++) {
      const changed = Buffer.from(answer);
      changed[at] = changed[at]! ^ 0x01;
      const read = readAnswer(changed, question, Date.now());
      if ('response' in read) expect(Buffer.from(read.response).equals(answer), `byte ${at}`).toBe(true);
    }
  }
});

test.each([
  [{ raw: { status: 503, body: Buffer.alloc(0) } }, 'answers with status 503'],
  [{ raw: { status: 301, body: Buffer.alloc(0) } }, 'answers with status 301'],
  [{ raw: { body: Buffer.alloc(100_000) } }, 'answers more than 65536 bytes'],
])('a responder that misbehaves is told of: %o', async (behaviour, message) => {
  responder.behaviour = behaviour;
  await expect(ask(question)).rejects.toThrow(message);
});

const CLOUDS = ['168.63.129.16', '[fd00:ec2::254]', '[64:ff9b::169.254.169.254]'];

test('what is no public address is not asked', async () => {
  const resolve = async () => ['127.0.0.1', '::1'];
  await expect(createAsk({ resolve })(question)).rejects.toThrow('is at an address that is not asked');
  for (const host of [
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    '0.0.0.0',
    '2130706433',
    ...CLOUDS,
  ]) {
    await expect(createAsk({ resolve })({ ...question, url: new URL(`http://${host}/`) })).rejects.toThrow(
      'is not asked',
    );
  }
  const unknown = async () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
  const nowhere = { ...question, url: new URL('http://nowhere.invalid/') };
  await expect(createAsk({ resolve: unknown })(nowhere)).rejects.toThrow('is not found (ENOTFOUND)');
});

test('a certificate without a responder, or without its issuer, is not asked about', async () => {
  const { chain } = await makePair(['a.example.com']);
  expect(questionAbout(Buffer.from(chain))).toEqual({ unasked: 'the certificate names no OCSP responder' });
  const [leaf = ''] = (await responder.issue('b.example.com')).chain.split(/(?<=-----END CERTIFICATE-----\n)/);
  const unasked = 'tls.crt does not hold the certificate of the issuer behind that of the server';
  expect(questionAbout(Buffer.from(leaf))).toEqual({ unasked });
  const other = await makeAuthority('authority');
  expect(questionAbout(Buffer.from(leaf + other.certificate))).toEqual({ unasked });
});

test('no certificate that OpenSSL reads, however it is changed, stops what asks', async () => {
  const [leaf = '', issuer = ''] = (await responder.issue('c.example.com')).chain.split(
    /(?<=-----END CERTIFICATE-----\n)/,
  );
  const der = Buffer.from(issuer.replace(/-----.*-----|\s/g, ''), 'base64');
  for (let at = 0; at < der.length; at++) {
    for (const value of [0x00, 0x10, 0x11, 0x30, 0xff]) {
      const changed = Buffer.from(der);
      changed[at] = value;
      const pem = `-----BEGIN CERTIFICATE-----\n${changed.toString('base64')}\n-----END CERTIFICATE-----\n`;
      expect(() => questionAbout(Buffer.from(leaf + pem))).not.toThrow();
    }
  }
});
