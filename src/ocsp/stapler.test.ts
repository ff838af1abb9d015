import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Responder, startResponder } from '../../test/support/ocsp.ts';
import { makePair } from '../../test/support/pki.ts';
import type { Staple } from '../model/staple.ts';
import { createAsk } from './ask.ts';
import { createStapler, type Stapler } from './stapler.ts';

const HOUR_MS = 3_600_000;
let responder: Responder;
let chain: Uint8Array;
let stapler: Stapler;
let known: Map<string, Staple | undefined>;
let timers: { readonly at: number; readonly callback: () => void }[];
let now: number;

beforeAll(async () => {
  responder = await startResponder();
  chain = Buffer.from((await responder.issue('shop.example.com')).chain);
});
afterAll(() => responder.close());

beforeEach(() => {
  responder.behaviour = {};
  known = new Map();
  timers = [];
  now = Date.now();
  stapler = createStapler({
    ask: createAsk({ isAllowed: () => true }),
    clock: {
      now: () => now,
      after(delayMs, callback) {
        const timer = { at: now + delayMs, callback };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    },
    onChange: (name, staple) => known.set(name, staple),
  });
  return () => stapler.stop();
});

/** Lets time pass up to the next timer that is due. */
function advance(): number {
  const [next] = timers.sort((a, b) => a.at - b.at);
  timers.shift();
  const waited = next!.at - now;
  now = next!.at;
  next!.callback();
  return waited;
}

const seen = () => known.get('shop/tls');

test('asks about a certificate, and again when half of the time has passed', async () => {
  stapler.follow('shop/tls', chain);
  await expect.poll(seen).toMatchObject({ chain, response: expect.any(Uint8Array) });
  expect(timers).toHaveLength(2);
  const asked = responder.asked;
  // An hour of 25 had passed.
  expect(advance() / HOUR_MS).toBeCloseTo(11.5, 1);
  await expect.poll(() => responder.asked).toBe(asked + 1);
  stapler.follow('shop/tls', Buffer.from(chain));
  expect(responder.asked).toBe(asked + 1);
});

test('keeps an answer as long as it holds, and asks at growing intervals meanwhile', async () => {
  // Longer than one timer waits: the first one only sets a second.
  responder.behaviour = { nextUpdate: 30 };
  const start = now;
  stapler.follow('shop/tls', chain);
  await expect.poll(seen).toHaveProperty('response');
  responder.behaviour = { status: 'unknown' };
  advance();
  const problem = 'the OCSP responder does not know the certificate';
  await expect.poll(seen).toMatchObject({ problem, response: expect.any(Uint8Array) });
  const waits: number[] = [];
  while (seen()?.response !== undefined) {
    const asked = responder.asked;
    waits.push(advance());
    const isAsking = timers.length < 2 && seen()?.response !== undefined;
    if (isAsking) {
      await expect.poll(() => responder.asked).toBe(asked + 1);
      await expect.poll(() => timers.length).toBe(2);
    }
  }
  expect((now - start) / HOUR_MS).toBeCloseTo(30, 1);
  expect(waits.slice(0, 4)).toEqual([60_000, 120_000, 240_000, 480_000]);
  expect(Math.max(...waits)).toBeLessThanOrEqual(HOUR_MS);
  expect(seen()).toEqual({ chain, problem });
  responder.behaviour = { thisUpdate: 11, nextUpdate: 36 };
  advance();
  await expect.poll(seen).toEqual({ chain, response: expect.any(Uint8Array) });
});

test('a certificate that takes the place of another begins anew, and one that goes is forgotten', async () => {
  stapler.follow('shop/tls', chain);
  await expect.poll(seen).toHaveProperty('response');
  const next = Buffer.from((await responder.issue('shop.example.com')).chain);
  stapler.follow('shop/tls', next);
  expect(seen()).toEqual({ chain: next });
  await expect.poll(seen).toMatchObject({ chain: next, response: expect.any(Uint8Array) });
  stapler.follow('shop/tls', undefined);
  expect(seen()).toBeUndefined();
  expect(timers).toEqual([]);
});

test('says why there is nobody to ask', async () => {
  const own = Buffer.from((await makePair(['a.example.com'])).chain);
  stapler.follow('shop/tls', own);
  expect(seen()).toEqual({ chain: own, unasked: 'the certificate names no OCSP responder' });
  expect(timers).toEqual([]);
});

test('silent responders of one namespace keep no other waiting', async () => {
  const asked: string[] = [];
  const silent = createStapler({
    ask: ({ url }) => {
      asked.push(url.href);
      return new Promise(() => {});
    },
    clock: { now: Date.now, after: () => () => {} },
    onChange: () => {},
  });
  for (let index = 0; index < 100; index++) silent.follow(`evil/tls-${index}`, chain);
  expect(asked).toHaveLength(4);
  silent.follow('shop/tls', chain);
  expect(asked).toHaveLength(5);
  silent.stop();
});
