/** An AdmissionReview as the API server sends it, and what is answered. Nothing of it is believed before it is looked at. */
import { type Field, isPlainMap, member, rootField } from '../cluster/decode-fields.ts';

export interface ReviewRequest {
  /** To be repeated in the answer; the API server made it up. */
  readonly uid: string;
  /** `CREATE`, `UPDATE`, `DELETE`, `CONNECT`. */
  readonly operation: string;
  /** Of the object, also where the object does not repeat it. */
  readonly namespace: string;
  readonly name: string;
  /** The object as it is to be stored; absent with `DELETE`. */
  readonly object: Field;
}

/** `status` is that of the HTTP answer: there is nothing that could be allowed or denied. */
export interface RequestFault {
  readonly status: 400 | 500;
  readonly reason: string;
}

const API_VERSION = 'admission.k8s.io/v1';

/** `body` is parsed JSON. The object inside is not decoded here: that it cannot be is a reason to deny it. */
export function readReview(body: unknown): { readonly request: ReviewRequest } | { readonly fault: RequestFault } {
  const root = rootField(body, []);
  const apiVersion = member(root, 'apiVersion').value;
  const kind = member(root, 'kind').value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    return fault(400, 'the body is no Kubernetes object: apiVersion and kind are expected');
  }
  if (apiVersion !== API_VERSION || kind !== 'AdmissionReview') {
    return fault(500, `the body is no AdmissionReview of ${API_VERSION}`);
  }
  const request = member(root, 'request');
  const uid = member(request, 'uid').value;
  if (!isPlainMap(request.value) || typeof uid !== 'string' || uid === '') {
    return fault(400, 'the AdmissionReview holds no request with a uid');
  }
  if (!isIngressKind(member(request, 'kind'))) {
    return fault(500, 'the request is not about an Ingress of networking.k8s.io/v1');
  }
  return {
    request: {
      uid,
      operation: textOf(request, 'operation'),
      namespace: textOf(request, 'namespace'),
      name: textOf(request, 'name'),
      object: rootField(member(request, 'object').value, []),
    },
  };
}

/** The answer to a review. A denial says why; warnings are shown to whoever applies the object. */
export function reviewResponse(
  uid: string,
  { denial, warnings }: { readonly denial?: string; readonly warnings: readonly string[] },
): unknown {
  const status = { status: 'Failure', reason: 'BadRequest', code: 400 };
  return {
    apiVersion: API_VERSION,
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: denial === undefined,
      ...(denial !== undefined && { status: { ...status, message: denial } }),
      ...(warnings.length > 0 && { warnings }),
    },
  };
}

function isIngressKind(kind: Field): boolean {
  return (
    member(kind, 'group').value === 'networking.k8s.io' &&
    member(kind, 'version').value === 'v1' &&
    member(kind, 'kind').value === 'Ingress'
  );
}

function textOf(field: Field, name: string): string {
  const { value } = member(field, name);
  return typeof value === 'string' ? value : '';
}

function fault(status: RequestFault['status'], reason: string): { readonly fault: RequestFault } {
  return { fault: { status, reason } };
}
