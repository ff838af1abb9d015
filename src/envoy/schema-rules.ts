import protobuf from 'protobufjs';
import { type FieldRules, messageOptions } from './field-options.ts';
import { fullName, messageType, typeOfUrl } from './schema.ts';
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
  checkOf(messageType(name))(message, '', found);
  return found;
}

/** Looks at a value and reports what is wrong. Compiled once for each type and field. */
type Check = (value: unknown, path: string, found: Violation[]) => void;

interface Fields {
  readonly [name: string]: unknown;
}

const compiled = new Map<protobuf.Type, Check>();
const accept: Check = () => {};

function checkOf(type: protobuf.Type): Check {
  let check = compiled.get(type);
  if (check === undefined) {
    // Messages may contain themselves: whoever asks while this one is being compiled gets a reference to what it will be.
    compiled.set(type, (value, path, found) => compiled.get(type)!(value, path, found));
    check = compileMessage(type);
    compiled.set(type, check);
  }
  return check;
}

function compileMessage(type: protobuf.Type): Check {
  const name = fullName(type);
  if (name === 'google.protobuf.Any') return checkAny;
  const options = messageOptions().get(name);
  if (name.startsWith('google.protobuf.') || options?.unchecked) return accept;

  const present = new Map<string, Check>();
  const mandatory: { readonly name: string; readonly rules: readonly string[] }[] = [];
  for (const field of type.fieldsArray) {
    const rules = options?.fields.get(field.name)?.rules ?? {};
    const check = checkPresent(field.resolve(), rules);
    if (check !== accept) present.set(field.name, check);
    const broken = brokenByAbsence(field, rules, check);
    if (broken.length > 0) mandatory.push({ name: field.name, rules: broken });
  }
  const oneofs = (options?.requiredOneofs ?? []).map((oneof) => requireOneof(oneof, type.oneofs[oneof]!.oneof));
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
  const type = typeof url === 'string' ? typeOfUrl(url) : undefined;
  if (type !== undefined) checkOf(type)(value, path, found);
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
function brokenByAbsence(field: protobuf.Field, rules: FieldRules, check: Check): string[] {
  if (isMember(field)) return [];
  if (Object.values(rules).some((kind) => kind?.['required'] === true)) return ['required'];
  const found: Violation[] = [];
  if (field instanceof protobuf.MapField) check({}, '', found);
  else if (field.repeated) check([], '', found);
  else if (!field.hasPresence && !(field.resolvedType instanceof protobuf.Type)) check(field.typeDefault, '', found);
  return found.map((violation) => violation.rule);
}

/** Rules of a member of a oneof, presence included, hold only while it is the one that is set. */
function isMember(field: protobuf.Field): boolean {
  return field.partOf !== null && !field.partOf.isProto3Optional;
}

function checkPresent(field: protobuf.Field, rules: FieldRules): Check {
  if (field instanceof protobuf.MapField) return checkMap(field, rules);
  return field.repeated ? checkList(field, rules) : checkItem(field, rules);
}

function checkList(field: protobuf.Field, rules: FieldRules): Check {
  const itemRules = (rules['repeated']?.['items'] ?? {}) as FieldRules;
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

function checkMap(field: protobuf.MapField, rules: FieldRules): Check {
  const key = tests('string', (rules['map']?.['keys'] ?? {}) as FieldRules);
  const item = checkItem(field, (rules['map']?.['values'] ?? {}) as FieldRules);
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
function checkItem(field: protobuf.FieldBase, rules: FieldRules): Check {
  const kinds = Object.keys(rules).filter((kind) => kind !== 'repeated' && kind !== 'map');
  const own = all(kinds.map((kind) => tests(kind, rules)));
  const type = field.resolvedType;
  if (type instanceof protobuf.Enum) return rules['enum']?.['defined_only'] ? all([definedOnly(type), own]) : own;
  if (!(type instanceof protobuf.Type)) return own;
  if (isWrapper(type)) return unwrapped(type, own);
  return rules['message']?.['skip'] === true ? own : all([own, checkOf(type)]);
}

function definedOnly(type: protobuf.Enum): Check {
  return (value, path, found) => {
    if (type.valuesById[value as number] === undefined) found.push({ path, rule: 'enum.defined_only' });
  };
}

/** Rules of a scalar apply to what a wrapper holds. */
function unwrapped(type: protobuf.Type, check: Check): Check {
  if (check === accept) return accept;
  const { typeDefault } = type.fields['value']!.resolve();
  return (wrapper, path, found) => check((wrapper as Fields)['value'] ?? typeDefault, path, found);
}

function isWrapper(type: protobuf.Type): boolean {
  return /^\.google\.protobuf\.(Bool|Bytes|Double|Float|U?Int32|U?Int64|String)Value$/.test(type.fullName);
}

function tests(kind: string, rules: FieldRules): Check {
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
