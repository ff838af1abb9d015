import protobuf from 'protobufjs';
import { messageRules } from './message-rules.ts';
import { fullName, typeOfUrl } from './schema.ts';

interface Fields {
  readonly [name: string]: unknown;
}

const redacted = '[redacted]';

/** Types whose JSON form is their `value` alone. */
const wrappers = new Set(
  ['Bool', 'Bytes', 'Double', 'Float', 'Int32', 'Int64', 'String', 'UInt32', 'UInt64'].map(
    (kind) => `google.protobuf.${kind}Value`,
  ),
);

/** The types that Protobuf's JSON form writes in a way of their own. */
const specialForms: Readonly<Record<string, (message: Fields) => unknown>> = {
  'google.protobuf.Duration': (message) => duration(message),
  'google.protobuf.Timestamp': (message) => timestamp(message),
  'google.protobuf.Struct': (message) => struct(message),
  'google.protobuf.Value': (message) => structValue(message),
  'google.protobuf.ListValue': (message) => listValue(message),
};

/** The JSON form of a decoded message. With `redact`, strings in fields that the schema marks sensitive are hidden. */
export function jsonOf(type: protobuf.Type, message: unknown, redact: boolean): unknown {
  const name = fullName(type);
  const fields = message as Fields;
  if (name === 'google.protobuf.Any') return anyOf(fields, redact);
  if (wrappers.has(name)) return wrapped(type, fields);
  const special = specialForms[name];
  return special === undefined ? objectOf(type, fields, redact) : special(fields);
}

function objectOf(type: protobuf.Type, message: Fields, redact: boolean): Fields {
  const rules = messageRules().get(fullName(type));
  const json: Record<string, unknown> = {};
  for (const name of Object.keys(message)) {
    const field = type.fields[name];
    if (field === undefined) continue;
    const value = fieldOf(field.resolve(), message[name], redact);
    json[name] = redact && rules?.fields[name]?.sensitive ? hide(value) : value;
  }
  return json;
}

/** Keeps the shape, so that one sees what is set, and whether it is a file name or the key itself. */
function hide(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(hide);
  if (typeof json !== 'object' || json === null) return redacted;
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, key === '@type' ? value : hide(value)]));
}

function fieldOf(field: protobuf.Field, value: unknown, redact: boolean): unknown {
  const item = (one: unknown) => itemOf(field, one, redact);
  if (field instanceof protobuf.MapField) {
    const map = value as Fields;
    return Object.fromEntries(
      Object.keys(map)
        .sort()
        .map((key) => [key, item(map[key])]),
    );
  }
  return field.repeated ? (value as readonly unknown[]).map(item) : item(value);
}

function itemOf(field: protobuf.Field, value: unknown, redact: boolean): unknown {
  if (field.resolvedType instanceof protobuf.Type) return jsonOf(field.resolvedType, value, redact);
  if (field.resolvedType instanceof protobuf.Enum) return field.resolvedType.valuesById[value as number] ?? value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (field.type.endsWith('64')) return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value;
}

function anyOf(message: Fields, redact: boolean): unknown {
  const url = message['@type'];
  const type = typeof url === 'string' ? typeOfUrl(url) : undefined;
  if (type === undefined) return { '@type': message['type_url'], value: base64(message['value']) };
  const json = jsonOf(type, message, redact);
  const isObject = !wrappers.has(fullName(type)) && !(fullName(type) in specialForms);
  return isObject ? { '@type': url, ...(json as object) } : { '@type': url, value: json };
}

function base64(bytes: unknown): string {
  return Buffer.from((bytes as Uint8Array | undefined) ?? []).toString('base64');
}

function wrapped(type: protobuf.Type, message: Fields): unknown {
  const field = type.fields['value']!.resolve();
  return itemOf(field, message['value'] ?? field.typeDefault, false);
}

function duration(message: Fields): string {
  const seconds = Number(message['seconds'] ?? 0);
  const nanos = Number(message['nanos'] ?? 0);
  const sign = seconds < 0 || nanos < 0 ? '-' : '';
  return `${sign}${Math.abs(seconds)}${fraction(Math.abs(nanos))}s`;
}

function timestamp(message: Fields): string {
  const date = new Date(Number(message['seconds'] ?? 0) * 1000).toISOString();
  return date.replace('.000Z', `${fraction(Number(message['nanos'] ?? 0))}Z`);
}

/** Nanoseconds as a fraction with 0, 3, 6 or 9 digits. */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  return `.${String(nanos).padStart(9, '0')}`.replace(/(000){1,2}$/, '');
}

function struct(message: Fields): unknown {
  const fields = (message['fields'] ?? {}) as Readonly<Record<string, Fields>>;
  return Object.fromEntries(
    Object.keys(fields)
      .sort()
      .map((key) => [key, structValue(fields[key]!)]),
  );
}

function listValue(message: Fields): unknown[] {
  return ((message['values'] ?? []) as readonly Fields[]).map(structValue);
}

function structValue(value: Fields): unknown {
  if (value['struct_value'] !== undefined) return struct(value['struct_value'] as Fields);
  if (value['list_value'] !== undefined) return listValue(value['list_value'] as Fields);
  return value['string_value'] ?? value['number_value'] ?? value['bool_value'] ?? null;
}
