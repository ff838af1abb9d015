import { encode, encodeField } from './codec.ts';
import { createCheckedEncoder, type Encoder } from './encoder.ts';

/** To the bytes that Envoy gets. Apart, since checking alone needs nothing of the codec. */
export function createEncoder(): Encoder {
  return createCheckedEncoder({ encodePart: encode, encodeField });
}
