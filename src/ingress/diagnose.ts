import type { Diagnostic, DiagnosticCode, Severity } from '../model/diagnostic.ts';
import type { ObjectRef } from '../model/object-ref.ts';

/** `field` is a path inside the object, absent when the message is about the object as a whole. */
export function diagnose(
  ref: ObjectRef,
  severity: Severity,
  code: DiagnosticCode,
  message: string,
  field?: string,
): Diagnostic {
  return { severity, code, message, ref, ...(field === undefined ? {} : { field }) };
}

/** Text of a user inside a message: quoted, with control characters escaped. */
export function quote(text: string): string {
  return JSON.stringify(text);
}
