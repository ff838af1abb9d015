import type { KindRules } from './message-rules.ts';

/**
 * Tests of single values by the rules of protoc-gen-validate, as the C++ code applies them that Envoy runs.
 * https://github.com/bufbuild/protoc-gen-validate/blob/main/README.md#constraint-rules
 */
export interface ValueTest {
  /** As in the schema: `min_len: 1`. */
  readonly rule: string;
  /** The value has the type of its field. */
  accepts(value: unknown): boolean;
}

/** What a rule with that limit accepts. `never` stands for the type that the table's kind of value has. */
type Rules = Readonly<Record<string, (limit: never, all: KindRules) => (value: never) => boolean>>;

/**
 * The tests for one kind of value: `string`, `uint32`, `duration`, `repeated`, … Rules that say whether a value must be present,
 * or what its items must be, are not among them.
 * @throws Error for a rule that is not implemented: this Envoy's schema has none.
 */
export function compileTests(kind: string, rules: KindRules): ValueTest[] {
  const table = tables[kind] ?? numbers;
  const outsideOnly = isOutside(rules);
  const tests = outsideOnly ? [outside(rules)] : [];
  for (const [rule, limit] of Object.entries(rules)) {
    if (handledElsewhere.has(rule) || (outsideOnly && bounds.has(rule))) continue;
    const compile = table[rule];
    if (compile === undefined) throw new Error(`the rule ${kind}.${rule} is not implemented`);
    tests.push({ rule: describe(rule, limit), accepts: compile(limit as never, rules) as ValueTest['accepts'] });
  }
  return rules['ignore_empty'] === true ? tests.map(unlessEmpty) : tests;
}

const handledElsewhere = new Set([
  'required',
  'skip',
  'items',
  'keys',
  'values',
  'strict',
  'ignore_empty',
  'defined_only',
]);

const length = (text: string) => [...text].length;
const byteLength = (text: string) => Buffer.byteLength(text);

const strings: Rules = {
  const: (limit: string) => (value: string) => value === limit,
  in: (limit: readonly string[]) => (value: string) => limit.includes(value),
  not_in: (limit: readonly string[]) => (value: string) => !limit.includes(value),
  len: (limit: number) => (value: string) => length(value) === limit,
  min_len: (limit: number) => (value: string) => length(value) >= limit,
  max_len: (limit: number) => (value: string) => length(value) <= limit,
  len_bytes: (limit: number) => (value: string) => byteLength(value) === limit,
  min_bytes: (limit: number) => (value: string) => byteLength(value) >= limit,
  max_bytes: (limit: number) => (value: string) => byteLength(value) <= limit,
  pattern: (limit: string) => matches(new RegExp(limit, 'u')),
  prefix: (limit: string) => (value: string) => value.startsWith(limit),
  suffix: (limit: string) => (value: string) => value.endsWith(limit),
  contains: (limit: string) => (value: string) => value.includes(limit),
  not_contains: (limit: string) => (value: string) => !value.includes(limit),
  well_known_regex: (limit: string, all) => {
    if (all['strict'] === false) return matches(anyHeaderText);
    return matches(limit === 'HTTP_HEADER_NAME' ? headerName : headerValue);
  },
};

// The expressions of protoc-gen-validate. Its name class contains the range from + to ., and so the comma.
const headerName = /^:?[0-9a-zA-Z!#$%&'*+-.^_|~`]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: which control characters may stand in a header is the question
const headerValue = /^[^\u0000-\u0008\u000A-\u001F\u007F]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const anyHeaderText = /^[^\u0000\u000A\u000D]*$/;

function matches(expression: RegExp): (value: string) => boolean {
  return (value) => expression.test(value);
}

const bytes: Rules = {
  len: (limit: number) => (value: Uint8Array) => value.length === limit,
  min_len: (limit: number) => (value: Uint8Array) => value.length >= limit,
  max_len: (limit: number) => (value: Uint8Array) => value.length <= limit,
};

const bools: Rules = { const: (limit: boolean) => (value: boolean) => value === limit };

const numbers: Rules = {
  const: (limit: number) => (value: number) => value === limit,
  in: (limit: readonly number[]) => (value: number) => limit.includes(value),
  not_in: (limit: readonly number[]) => (value: number) => !limit.includes(value),
  lt: (limit: number) => (value: number) => value < limit,
  lte: (limit: number) => (value: number) => value <= limit,
  gt: (limit: number) => (value: number) => value > limit,
  gte: (limit: number) => (value: number) => value >= limit,
};

interface Time {
  readonly seconds?: number;
  readonly nanos?: number;
}

const times: Rules = {
  const: (limit: Time) => (value: Time) => toSeconds(value) === toSeconds(limit),
  lt: (limit: Time) => (value: Time) => toSeconds(value) < toSeconds(limit),
  lte: (limit: Time) => (value: Time) => toSeconds(value) <= toSeconds(limit),
  gt: (limit: Time) => (value: Time) => toSeconds(value) > toSeconds(limit),
  gte: (limit: Time) => (value: Time) => toSeconds(value) >= toSeconds(limit),
};

function toSeconds(time: Time): number {
  return (time.seconds ?? 0) + (time.nanos ?? 0) / 1e9;
}

const lists: Rules = {
  min_items: (limit: number) => (value: readonly unknown[]) => value.length >= limit,
  max_items: (limit: number) => (value: readonly unknown[]) => value.length <= limit,
  unique: () => (value: readonly unknown[]) => new Set(value).size === value.length,
};

const maps: Rules = {
  min_pairs: (limit: number) => (value: object) => Object.keys(value).length >= limit,
  max_pairs: (limit: number) => (value: object) => Object.keys(value).length <= limit,
};

const anys: Rules = {
  in: (limit: readonly string[]) => (value: object) => limit.includes(urlOf(value)),
  not_in: (limit: readonly string[]) => (value: object) => !limit.includes(urlOf(value)),
};

function urlOf(any: { readonly '@type'?: string; readonly type_url?: string }): string {
  return any['@type'] ?? any.type_url ?? '';
}

const tables: Readonly<Record<string, Rules>> = {
  string: strings,
  bytes,
  bool: bools,
  duration: times,
  timestamp: times,
  repeated: lists,
  map: maps,
  any: anys,
  message: {},
};

const bounds = new Set(['lt', 'lte', 'gt', 'gte']);

/** A lower bound above the upper one means: outside of the range between them. */
function isOutside(rules: KindRules): boolean {
  const [lower, upper] = [rules['gt'] ?? rules['gte'], rules['lt'] ?? rules['lte']];
  return typeof lower === 'number' && typeof upper === 'number' && lower > upper;
}

function outside(rules: KindRules): ValueTest {
  const either = Object.entries(rules).filter(([rule]) => bounds.has(rule));
  const accept = either.map(([rule, limit]) => numbers[rule]!(limit as never, rules) as ValueTest['accepts']);
  return {
    rule: either.map(([rule, limit]) => describe(rule, limit)).join(' or '),
    accepts: (value) => accept.some((accepts) => accepts(value)),
  };
}

function unlessEmpty(test: ValueTest): ValueTest {
  return { rule: test.rule, accepts: (value) => isEmpty(value) || test.accepts(value) };
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  return value === 0 || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

function describe(rule: string, limit: unknown): string {
  const isTime = typeof limit === 'object' && limit !== null && !Array.isArray(limit);
  return `${rule}: ${isTime ? `${toSeconds(limit)}s` : JSON.stringify(limit)}`;
}
