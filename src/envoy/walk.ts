import protobuf from 'protobufjs';
import { messageType, typeOfUrl, typeUrlPrefix } from './schema.ts';

/**
 * What makes `message` no message of that type, as `path: reason`, in the order of the walk; empty if nothing does. The types
 * say the same to the compiler, but an object that was spread, or came from outside, is not checked by it.
 */
export function findUnknown(name: string, message: unknown): string[] {
  return checkMessage(messageType(name), message, '');
}

function checkMessage(type: protobuf.Type, value: unknown, path: string): string[] {
  if (!isPlainObject(value)) return problem(path, `expected an object, got ${describe(value)}`);
  const isAny = type.fullName === '.google.protobuf.Any' && value['@type'] !== undefined;
  return isAny ? checkAny(value, path) : checkFields(type, value, path);
}

function checkAny(value: Fields, path: string): string[] {
  const { '@type': url, ...fields } = value;
  const at = join(path, '@type');
  if (typeof url !== 'string' || !url.startsWith(typeUrlPrefix)) return problem(at, `not a type URL: ${describe(url)}`);
  const type = typeOfUrl(url);
  return type === undefined ? problem(at, `unknown type ${url}`) : checkMessage(type, fields, path);
}

function checkFields(type: protobuf.Type, message: Fields, path: string): string[] {
  const problems: string[] = [];
  for (const [key, value] of Object.entries(message)) {
    if (value === undefined) continue;
    const field = Object.hasOwn(type.fields, key) ? type.fields[key]?.resolve() : undefined;
    const at = join(path, key);
    problems.push(...(field === undefined ? problem(at, 'unknown field') : checkField(field, value, at)));
  }
  for (const oneof of type.oneofsArray) {
    const set = oneof.oneof.filter((name) => message[name] !== undefined);
    if (set.length > 1) problems.push(...problem(path, `more than one member of ${oneof.name}: ${set.join(', ')}`));
  }
  return problems;
}

function checkField(field: protobuf.Field, value: unknown, path: string): string[] {
  if (field instanceof protobuf.MapField) {
    if (!isPlainObject(value)) return problem(path, `expected a map, got ${describe(value)}`);
    return Object.entries(value).flatMap(([key, item]) => {
      const at = `${path}[${JSON.stringify(key)}]`;
      return [...checkKey(field.keyType, key, at), ...checkItem(field, item, at)];
    });
  }
  if (!field.repeated) return checkItem(field, value, path);
  if (!Array.isArray(value)) return problem(path, `expected an array, got ${describe(value)}`);
  return value.flatMap((item, index) => checkItem(field, item, `${path}[${index}]`));
}

/** Keys of objects are strings; those of a map may stand for numbers or booleans. */
function checkKey(keyType: string, key: string, path: string): string[] {
  if (keyType === 'string') return key.isWellFormed() ? [] : problem(path, 'expected a key of well-formed text');
  const fits =
    keyType === 'bool'
      ? key === 'true' || key === 'false'
      : String(Number(key)) === key && accepts(keyType, Number(key));
  return fits ? [] : problem(path, `expected a key of type ${keyType}`);
}

function checkItem(field: protobuf.FieldBase, value: unknown, path: string): string[] {
  const type = field.resolvedType;
  if (type instanceof protobuf.Type) return checkMessage(type, value, path);
  const fits = type instanceof protobuf.Enum ? isMember(type, value) : accepts(field.type, value);
  return fits ? [] : problem(path, `expected ${type?.name ?? field.type}, got ${describe(value)}`);
}

function isMember(type: protobuf.Enum, value: unknown): boolean {
  return typeof value === 'number' && type.valuesById[value] !== undefined;
}

function accepts(type: string, value: unknown): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string' && value.isWellFormed();
    case 'bool':
      return typeof value === 'boolean';
    case 'bytes':
      return value instanceof Uint8Array;
    case 'double':
    case 'float':
      return typeof value === 'number';
    default:
      return isInteger(type, value);
  }
}

function isInteger(type: string, value: unknown): boolean {
  if (!Number.isSafeInteger(value)) return false;
  const number = value as number;
  const unsigned = type.startsWith('u') || type.startsWith('fixed');
  if (unsigned && number < 0) return false;
  if (type.endsWith('64')) return true;
  return unsigned ? number < 2 ** 32 : number >= -(2 ** 31) && number < 2 ** 31;
}

interface Fields {
  readonly [name: string]: unknown;
}

function isPlainObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Uint8Array) return 'bytes';
  return typeof value === 'object' && value !== null ? 'an object' : `${typeof value} ${JSON.stringify(value)}`;
}

function problem(path: string, reason: string): string[] {
  return [`${path === '' ? '(root)' : path}: ${reason}`];
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
