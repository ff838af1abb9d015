import { type FieldRules, type MessageRules, messageRules, type ValueRules } from './message-rules.ts';
import { compileTests, type ValueTest } from './value-rules.ts';

/** A rule in Envoy's schema that a message breaks: Envoy would refuse the whole resource. */
export interface Violation {
  /** `routes[0].match.prefix`; keys of maps in brackets: `typed_per_filter_config["buffer"]`. */
  readonly path: string;
  /** As in the schema: `string.min_len: 1`, `required`, `enum.defined_only`. */
  readonly rule: string;
}

/**
 * Every rule of the schema that the message breaks, messages inside an Any included: what Envoy checks before it looks at the
 * meaning. The message must have the shape of its type (see `findUnknown`).
 */
export function findViolations(name: string, message: unknown): Violation[] {
  const found: Violation[] = [];
  checkOf(name)(message, '', found);
  return found;
}

/** Looks at a value and reports what is wrong. Compiled once for each type and field. */
type Check = (value: unknown, path: string, found: Violation[]) => void;

interface Fields {
  readonly [name: string]: unknown;
}

const compiled = new Map<string, Check>();
const accept: Check = () => {};

function checkOf(name: string): Check {
  let check = compiled.get(name);
  if (check === undefined) {
    const rules = messageRules().get(name);
    if (rules === undefined) throw new Error(`${name} is not in the schema`);
    // Messages may contain themselves: whoever asks while this one is being compiled gets a reference to what it will be.
    compiled.set(name, (value, path, found) => compiled.get(name)!(value, path, found));
    check = compileMessage(name, rules);
    compiled.set(name, check);
  }
  return check;
}

function compileMessage(name: string, { fields, requiredOneofs = {}, unchecked }: MessageRules): Check {
  if (name === 'google.protobuf.Any') return checkAny;
  if (name.startsWith('google.protobuf.') || unchecked) return accept;

  const present = new Map<string, Check>();
  const mandatory: { readonly name: string; readonly rules: readonly string[] }[] = [];
  for (const [field, rules] of Object.entries(fields)) {
    const check = checkPresent(rules);
    if (check !== accept) present.set(field, check);
    const broken = brokenByAbsence(rules, check);
    if (broken.length > 0) mandatory.push({ name: field, rules: broken });
  }
  const oneofs = Object.entries(requiredOneofs).map(([oneof, members]) => requireOneof(oneof, members));
  if (present.size + mandatory.length + oneofs.length === 0) return accept;

  // Walks the few fields that are set, not the many that could be.
  const checkFields: Check = (value, path, found) => {
    const message = value as Fields;
    for (const name of Object.keys(message)) {
      if (message[name] !== undefined) present.get(name)?.(message[name], join(path, name), found);
    }
    for (const { name, rules } of mandatory) {
      if (message[name] === undefined) for (const rule of rules) found.push({ path: join(path, name), rule });
    }
  };
  return all([checkFields, ...oneofs]);
}

function checkAny(value: unknown, path: string, found: Violation[]): void {
  const url = (value as Fields)['@type'];
  const name = typeof url === 'string' ? url.slice(url.lastIndexOf('/') + 1) : '';
  if (messageRules().has(name)) checkOf(name)(value, path, found);
}

function requireOneof(oneof: string, members: readonly string[]): Check {
  return (message, path, found) => {
    const isSet = members.some((member) => (message as Fields)[member] !== undefined);
    if (!isSet) found.push({ path: join(path, oneof), rule: 'required' });
  };
}

/**
 * The rules that a message without this field breaks. Where the schema knows no absence, the field then has its default value,
 * which must keep the rules all the same.
 */
function brokenByAbsence({ member, rules = {}, default: absent }: FieldRules, check: Check): string[] {
  if (member) return [];
  if (Object.values(rules).some((kind) => kind?.['required'] === true)) return ['required'];
  const found: Violation[] = [];
  if (absent !== undefined) check(absent, '', found);
  return found.map((violation) => violation.rule);
}

function checkPresent(field: FieldRules): Check {
  const { label, rules = {} } = field;
  if (label === 'map') return checkMap(field, rules);
  return label === 'repeated' ? checkList(field, rules) : checkItem(field, rules);
}

function checkList(field: FieldRules, rules: ValueRules): Check {
  const itemRules = (rules['repeated']?.['items'] ?? {}) as ValueRules;
  const item = checkItem(field, itemRules);
  const whole = tests('repeated', rules);
  if (item === accept) return whole;
  return all([
    whole,
    (list, path, found) => {
      const items = list as readonly unknown[];
      for (let i = 0; i < items.length; i++) item(items[i], `${path}[${i}]`, found);
    },
  ]);
}

function checkMap(field: FieldRules, rules: ValueRules): Check {
  const key = tests('string', (rules['map']?.['keys'] ?? {}) as ValueRules);
  const item = checkItem(field, (rules['map']?.['values'] ?? {}) as ValueRules);
  const whole = tests('map', rules);
  if (key === accept && item === accept) return whole;
  return all([
    whole,
    (map, path, found) => {
      for (const [name, value] of Object.entries(map as object)) {
        const at = `${path}[${JSON.stringify(name)}]`;
        key(name, at, found);
        item(value, at, found);
      }
    },
  ]);
}

/** The check of one value: of the field, or of one item of it. */
function checkItem({ message, enum: numbers }: FieldRules, rules: ValueRules): Check {
  const kinds = Object.keys(rules).filter((kind) => kind !== 'repeated' && kind !== 'map');
  const own = all(kinds.map((kind) => tests(kind, rules)));
  if (numbers !== undefined && rules['enum']?.['defined_only']) return all([definedOnly(numbers), own]);
  if (message === undefined) return own;
  if (message in WRAPPED_DEFAULTS) return unwrapped(WRAPPED_DEFAULTS[message], own);
  return rules['message']?.['skip'] === true ? own : all([own, checkOf(message)]);
}

function definedOnly(numbers: readonly number[]): Check {
  const defined = new Set(numbers);
  return (value, path, found) => {
    if (!defined.has(value as number)) found.push({ path, rule: 'enum.defined_only' });
  };
}

/** Wrappers, and what they hold when nothing is set in them. */
const WRAPPED_DEFAULTS: Readonly<Record<string, unknown>> = {
  'google.protobuf.BoolValue': false,
  'google.protobuf.BytesValue': [],
  'google.protobuf.DoubleValue': 0,
  'google.protobuf.FloatValue': 0,
  'google.protobuf.Int32Value': 0,
  'google.protobuf.Int64Value': 0,
  'google.protobuf.StringValue': '',
  'google.protobuf.UInt32Value': 0,
  'google.protobuf.UInt64Value': 0,
};

/** Rules of a scalar apply to what a wrapper holds. */
function unwrapped(absent: unknown, check: Check): Check {
  if (check === accept) return accept;
  return (wrapper, path, found) => check((wrapper as Fields)['value'] ?? absent, path, found);
}

function tests(kind: string, rules: ValueRules): Check {
  return all(compileTests(kind, rules[kind] ?? {}).map((test) => toCheck(kind, test)));
}

function toCheck(kind: string, test: ValueTest): Check {
  const rule = `${kind}.${test.rule}`;
  return (value, path, found) => {
    if (!test.accepts(value)) found.push({ path, rule });
  };
}

function all(checks: readonly Check[]): Check {
  const [first, ...others] = checks.filter((check) => check !== accept);
  if (first === undefined) return accept;
  if (others.length === 0) return first;
  return (value, path, found) => {
    first(value, path, found);
    for (const check of others) check(value, path, found);
  };
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
