/** What is known from the OCSP responder of a certificate. */
export interface Staple {
  /** PEM of the certificate that it is about, and of its issuers. */
  readonly chain: Uint8Array;
  /** DER of an answer that holds; absent while there is none. */
  readonly response?: Uint8Array;
  /** Why there is none, or none that is newer. */
  readonly problem?: string;
  /** Why there is nobody to ask. */
  readonly unasked?: string;
}
