/** Which Events users see: Diagnostics, and those that ingress-nginx sends. */
import type { Diagnostic, DiagnosticCode } from '../model/diagnostic.ts';
import type { DiagnosticChange } from '../model/diagnostic-change.ts';
import { describeRef, type ObjectKey, type ObjectRef, objectRef } from '../model/object-ref.ts';
import type { EventRecorder } from './events.ts';

/** What distinguishes an object from others of its name. */
export interface ObjectIdentity {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface EventReportsOptions {
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** The object as it is known now. */
  readonly identify: (ref: ObjectRef) => ObjectIdentity | undefined;
  /** False with `--disable-sync-events`. */
  readonly syncEvents: boolean;
}

export interface EventReports {
  /** A Warning for each new error and warning, a Normal for what is worth knowing; on the object that it is about. */
  diagnosed(change: DiagnosticChange): void;
  /** `Sync` on Ingresses that came or changed. */
  ingressesChanged(keys: Iterable<ObjectKey>): void;
  /** `CREATE` or `UPDATE` on a ConfigMap that a flag names. */
  configMapChanged(key: ObjectKey, existed: boolean): void;
}

/** Reasons by which users of ingress-nginx search; others are the code of the Diagnostic. */
const PARSING_FAILED = { reason: 'AnnotationParsingFailed', prefix: 'Error parsing annotations: ' };
const REASONS: Partial<Record<DiagnosticCode, { readonly reason: string; readonly prefix: string }>> = {
  AnnotationDenied: PARSING_FAILED,
  ProtectionUnavailable: PARSING_FAILED,
};

export function createEventReports({ recorder, identify, syncEvents }: EventReportsOptions): EventReports {
  function record(ref: ObjectRef, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { uid, resourceVersion } = identify(ref) ?? {};
    recorder.record({
      ref,
      type,
      reason,
      message,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    });
  }

  function diagnose({ ref, severity, code, field, message }: Diagnostic): void {
    if (ref === undefined) return;
    const { reason = code, prefix = '' } = REASONS[code] ?? {};
    const place = field === undefined || field === '' ? '' : `${field}: `;
    record(ref, severity === 'info' ? 'Normal' : 'Warning', reason, `${prefix}${place}${message}`);
  }

  return {
    diagnosed: ({ added }) => added.forEach(diagnose),
    ingressesChanged(keys) {
      if (!syncEvents) return;
      for (const key of keys) record(objectRef('Ingress', key), 'Normal', 'Sync', 'Scheduled for sync');
    },
    configMapChanged(key, existed) {
      const ref = objectRef('ConfigMap', key);
      record(ref, 'Normal', existed ? 'UPDATE' : 'CREATE', describeRef(ref));
    },
  };
}
