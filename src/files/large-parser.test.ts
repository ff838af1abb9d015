import { afterEach, describe, expect, it } from 'vitest';
import { createLargeParser, type LargeParser, type ParseLimits } from './large-parser.ts';
import { isLarge, parseOne } from './parse.ts';

let parser: LargeParser;

afterEach(() => parser.close());

function start(limits: Partial<ParseLimits> = {}): LargeParser {
  parser = createLargeParser({ time: 60_000, memory: 1024, ...limits });
  return parser;
}

const WIDE = `kind: ConfigMap\napiVersion: v1\nmetadata: {name: wide}\ndata:\n${Array.from({ length: 20_000 }, (_, index) => `  k${index}: b\n`).join('')}`;
const SECRETS = Array.from(
  { length: 2_000 },
  (_, index) => `kind: Secret\napiVersion: v1\nmetadata: {name: s${index}}\ndata: {a: YWJj}\n`,
);

describe('a large text', () => {
  it('is parsed as a small one is', async () => {
    const texts = [...SECRETS, WIDE];
    expect(isLarge(texts.join(''))).toBe(true);
    expect(await start().parse(texts, 'shop')).toEqual(texts.map((text) => parseOne(text, 'shop')));
  });

  it('does not hold up this thread', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await start().parse([WIDE], 'shop');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it('may take so much time', async () => {
    const [document] = await start({ time: 1 }).parse([WIDE], 'shop');
    expect(document).toMatchObject({ text: WIDE, entries: [], fault: { position: { line: 0, column: 0 } } });
    expect(document?.fault?.message).toBe('Parsing takes longer than 0.001 s');
  });

  it('may take so much memory', async () => {
    const text = `a: [${'1,'.repeat(1_000_000)}]\n`;
    const [document] = await start({ memory: 48 }).parse([text], 'shop');
    expect(document?.fault?.message).toBe('Parsing takes more than 48 MiB of memory');
  });

  it('leaves those that come after it alone', async () => {
    const first = start({ memory: 48 }).parse([`a: [${'1,'.repeat(1_000_000)}]\n`], 'shop');
    const second = parser.parse([SECRETS.join('---\n').slice(0, 70_000)], 'shop');
    expect((await first)[0]?.fault).toBeDefined();
    expect((await second)[0]?.fault?.message).not.toContain('memory');
  });
});

it('ends at once when it is closed', async () => {
  const parsing = start().parse([WIDE], 'shop');
  const waiting = parser.parse([WIDE], 'shop');
  const both = Promise.allSettled([parsing, waiting]);
  await parser.close();
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
