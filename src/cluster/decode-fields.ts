/** How the decoders read manifest values of unknown shape: each reader returns what is there, or notes why it cannot. */
import type { DiagnosticCode } from '../model/diagnostic.ts';

/** What is wrong with one field of an object. An `error` makes the object invalid, a `warning` does not. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  readonly code: DiagnosticCode;
  /** Path inside the object, `spec.rules[0].host`; empty for the object as a whole. */
  readonly field: string;
  readonly message: string;
}

/** A value with the path that leads to it. An absent value and `null` are both `undefined`, as in the Kubernetes API. */
export interface Field {
  readonly path: string;
  readonly value: unknown;
  /** Collects what the readers find wrong. */
  readonly problems: Problem[];
  /** Messages must not show the value: it belongs to a Secret. */
  readonly secret: boolean;
}

type PlainMap = Readonly<Record<string, unknown>>;

export function rootField(value: unknown, problems: Problem[]): Field {
  return { path: '', value: value ?? undefined, problems, secret: false };
}

export function asSecret(field: Field): Field {
  return { ...field, secret: true };
}

export function isPlainMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of a map; absent when the field is no map (which `readMap` reports). */
export function member(field: Field, name: string): Field {
  const value = isPlainMap(field.value) && Object.hasOwn(field.value, name) ? field.value[name] : undefined;
  return { ...field, path: memberPath(field.path, name), value: value ?? undefined };
}

/** `a.b`, or `a["x/y.z"]` for names that hold more than letters, digits, `-` and `_`. */
export function memberPath(path: string, name: string): string {
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

export function isPresent(field: Field): boolean {
  return field.value !== undefined;
}

export function note(field: Field, problem: Omit<Problem, 'field'>): void {
  field.problems.push({ ...problem, field: field.path });
}

export function refuse(field: Field, message: string): void {
  note(field, { severity: 'error', code: 'ObjectInvalid', message });
}

/** The values themselves are not copied; absent reads as an empty map. */
export function readMap(field: Field): PlainMap {
  if (field.value === undefined) return {};
  if (isPlainMap(field.value)) return field.value;
  expected(field, 'a map');
  return {};
}

export function readList(field: Field): Field[] {
  if (field.value === undefined) return [];
  if (!Array.isArray(field.value)) {
    expected(field, 'a list');
    return [];
  }
  return field.value.map((value: unknown, index) => ({
    ...field,
    path: `${field.path}[${index}]`,
    value: value ?? undefined,
  }));
}

export function readText(field: Field): string | undefined {
  if (field.value === undefined || typeof field.value === 'string') return field.value;
  const scalar = typeof field.value !== 'object';
  expected(field, scalar ? 'a string (in quotes)' : 'a string');
  return undefined;
}

export function requireText(field: Field): string {
  const text = readText(field);
  if (text === '' || !isPresent(field)) refuse(field, 'A value is required');
  return text ?? '';
}

export function readTexts(field: Field): string[] {
  return readList(field).map((item) => {
    if (!isPresent(item)) expected(item, 'a string');
    return readText(item) ?? '';
  });
}

/** A map of strings; a `null` value is the empty string, as in the Kubernetes API. */
export function readTextMap(field: Field): Readonly<Record<string, string>> {
  const names = Object.keys(readMap(field));
  return Object.fromEntries(names.map((name) => [name, readText(member(field, name)) ?? '']));
}

export function readBoolean(field: Field): boolean | undefined {
  if (field.value === undefined || typeof field.value === 'boolean') return field.value;
  expected(field, 'true or false');
  return undefined;
}

export function readPort(field: Field): number | undefined {
  const { value } = field;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535) return value;
  expected(field, 'a number from 1 to 65535');
  return undefined;
}

export function requirePort(field: Field): number {
  if (!isPresent(field)) refuse(field, 'A port number is required');
  return readPort(field) ?? 0;
}

/** `fallback` when absent. */
export function readOneOf(field: Field, allowed: readonly string[], fallback: string): string {
  const text = readText(field);
  if (text === undefined) return fallback;
  if (!allowed.includes(text)) refuse(field, `${show(field)} is not one of ${allowed.join(', ')}`);
  return text;
}

/** Misspelt fields are dropped by the API server, so they are named here instead of being dropped in silence. */
export function warnUnknown(field: Field, known: readonly string[]): void {
  if (!isPlainMap(field.value)) return;
  for (const name of Object.keys(field.value)) {
    if (known.includes(name)) continue;
    const message = `No such field; it is ignored (known here: ${known.join(', ')})`;
    note(member(field, name), { severity: 'warning', code: 'FieldUnknown', message });
  }
}

/** A DNS label as in RFC 1123: `web-1`. */
export function isLabel(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
}

/** Labels separated by dots, as the names of most objects are. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label));
}

function expected(field: Field, what: string): void {
  refuse(field, `${show(field)} is ${kindOf(field.value)}; ${what} is expected`);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

const SHOWN_LENGTH = 60;

/** The value as messages show it: short, and not at all when it is secret. */
export function show(field: Field): string {
  if (field.secret || typeof field.value === 'object' || field.value === undefined) return 'The value';
  const text = JSON.stringify(field.value) ?? String(field.value);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
