/** Keeps an answer of its OCSP responder for each certificate, as long as it holds. */
import type { Staple } from '../model/staple.ts';
import type { Ask } from './ask.ts';
import { type GoodAnswer, type Question, questionAbout, readAnswer } from './message.ts';

export interface StaplerOptions {
  readonly ask: Ask;
  readonly clock: StaplerClock;
  /** What is known of a certificate has changed; `undefined`: nothing any more. */
  onChange(name: string, staple: Staple | undefined): void;
}

export interface StaplerClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back after `delayMs` unless the returned function was called before. */
  after(delayMs: number, callback: () => void): () => void;
}

export interface Stapler {
  /** From now on this is the certificate of that name; `chain` is PEM, leaf first, `undefined` where there is none any more. */
  follow(name: string, chain: Uint8Array | undefined): void;
  stop(): void;
}

interface Followed {
  readonly chain: Uint8Array;
  staple: Staple;
  nextUpdate?: number;
  failures: number;
  /** Ends the wait for the next question. */
  cancel: () => void;
  cancelExpiry: () => void;
}

/** At a start there is one question for each certificate. The silent responders of one namespace keep no other waiting. */
const MAX_ASKED_AT_ONCE = 32;
const MAX_ASKED_OF_NAMESPACE = 4;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A longer wait than this a timer cannot have, and an answer that is asked for daily is fresh. */
const MAX_WAIT_MS = 24 * HOUR_MS;

export function createStapler({ ask, clock, onChange }: StaplerOptions): Stapler {
  const followed = new Map<string, Followed>();
  const waiting = new Map<string, Followed>();
  let asked = 0;
  const askedOf = new Map<string, number>();
  let stopped = false;

  function follow(name: string, chain: Uint8Array | undefined): void {
    const former = followed.get(name);
    if (former !== undefined && chain !== undefined && Buffer.compare(former.chain, chain) === 0) return;
    if (former !== undefined) forget(name, former);
    if (chain === undefined) {
      if (former !== undefined) onChange(name, undefined);
      return;
    }
    const entry: Followed = { chain, staple: { chain }, failures: 0, cancel: () => {}, cancelExpiry: () => {} };
    followed.set(name, entry);
    // Of the former certificate nothing holds any more.
    if (former?.staple.response !== undefined) onChange(name, entry.staple);
    enqueue(name, entry);
  }

  function forget(name: string, entry: Followed): void {
    entry.cancel();
    entry.cancelExpiry();
    followed.delete(name);
    waiting.delete(name);
  }

  function enqueue(name: string, entry: Followed): void {
    waiting.set(name, entry);
    askNext();
  }

  function askNext(): void {
    while (asked < MAX_ASKED_AT_ONCE && !stopped) {
      const next = nextToAsk();
      if (next === undefined) return;
      const [name, entry] = next;
      waiting.delete(name);
      const question = questionAbout(entry.chain);
      if ('unasked' in question) {
        set(name, entry, { chain: entry.chain, unasked: question.unasked });
        continue;
      }
      count(name, 1);
      void askOne(name, entry, question).finally(() => {
        count(name, -1);
        askNext();
      });
    }
  }

  function nextToAsk(): [name: string, entry: Followed] | undefined {
    for (const next of waiting) if ((askedOf.get(namespaceOf(next[0])) ?? 0) < MAX_ASKED_OF_NAMESPACE) return next;
    return undefined;
  }

  function count(name: string, change: 1 | -1): void {
    const namespace = namespaceOf(name);
    const now = (askedOf.get(namespace) ?? 0) + change;
    if (now > 0) askedOf.set(namespace, now);
    else askedOf.delete(namespace);
    asked += change;
  }

  async function askOne(name: string, entry: Followed, question: Question): Promise<void> {
    const outcome = await ask(question).then(
      (response) => readAnswer(response, question, clock.now()),
      (error: Error) => ({ reason: error.message }),
    );
    if (stopped || followed.get(name) !== entry) return;
    if ('reason' in outcome) failed(name, entry, `the OCSP responder ${outcome.reason}`);
    else answered(name, entry, outcome);
  }

  function answered(name: string, entry: Followed, answer: GoodAnswer): void {
    entry.failures = 0;
    entry.cancelExpiry();
    entry.nextUpdate = answer.nextUpdate ?? clock.now() + 2 * HOUR_MS;
    set(name, entry, { chain: entry.chain, response: answer.response });
    expireAt(name, entry, entry.nextUpdate);
    askAgain(name, entry, waitOf(answer, clock.now()));
  }

  function failed(name: string, entry: Followed, problem: string): void {
    entry.failures++;
    const { chain, staple } = entry;
    // The former answer counts as long as it holds.
    set(name, entry, { chain, problem, ...(staple.response && { response: staple.response }) });
    askAgain(name, entry, Math.min(HOUR_MS, MINUTE_MS * 2 ** (entry.failures - 1)));
  }

  function askAgain(name: string, entry: Followed, delayMs: number): void {
    entry.cancel = clock.after(delayMs, () => enqueue(name, entry));
  }

  function expireAt(name: string, entry: Followed, time: number): void {
    const delayMs = Math.min(MAX_WAIT_MS, Math.max(0, time - clock.now()));
    entry.cancelExpiry = clock.after(delayMs, () => {
      if (clock.now() < time) return expireAt(name, entry, time);
      const { chain, problem = 'the last answer of the OCSP responder holds no longer' } = entry.staple;
      set(name, entry, { chain, problem });
    });
  }

  function set(name: string, entry: Followed, staple: Staple): void {
    entry.staple = staple;
    onChange(name, staple);
  }

  return {
    follow,
    stop() {
      stopped = true;
      for (const [name, entry] of followed) forget(name, entry);
    },
  };
}

/** Asks again when half of the time has passed for which an answer holds. */
function waitOf({ thisUpdate, nextUpdate }: GoodAnswer, now: number): number {
  if (nextUpdate === undefined) return HOUR_MS;
  const middle = thisUpdate + (nextUpdate - thisUpdate) / 2;
  return Math.min(MAX_WAIT_MS, Math.max(MINUTE_MS, middle - now));
}

/** Of the Secret, `namespace/name`. */
function namespaceOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('/')));
}
