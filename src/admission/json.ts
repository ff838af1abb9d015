/** Bodies of strangers: what `JSON.parse` makes of them must stay in proportion to what an Ingress can be. */

/** An Ingress has about 15 levels; parsing is quick at any depth, but nothing behind it should have to be. */
const MAX_DEPTH = 100;
/** Maps and lists. The largest Ingress that the API server takes has some 100,000; each costs some 50 bytes and more. */
const MAX_CONTAINERS = 500_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** @throws SyntaxError when the bytes are no JSON, or deeper or more divided than any AdmissionReview. */
export function parseJson(bytes: Buffer): unknown {
  checkShape(bytes);
  return JSON.parse(bytes.toString('utf8'));
}

function checkShape(bytes: Buffer): void {
  let depth = 0;
  let containers = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (byte === 0x5b || byte === 0x7b) {
      containers++;
      depth++;
      if (depth > MAX_DEPTH) throw new SyntaxError(`more than ${MAX_DEPTH} levels`);
      if (containers > MAX_CONTAINERS) throw new SyntaxError(`more than ${MAX_CONTAINERS} maps and lists`);
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
}
