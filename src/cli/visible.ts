/** Names and values are written by whoever may write manifests: what would move a cursor, break a line or turn text around is spelt out. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT[character] ?? `\\u${hex(character)}`);
}

const UNSEEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}
