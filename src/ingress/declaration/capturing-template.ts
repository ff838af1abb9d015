import type { CapturingTemplate } from '../../model/proxy-model.ts';
import type { Codec } from './codec.ts';
import { parseTemplate } from './template.ts';

/**
 * A path, or URL, with `$1` to `$9` and variables of nginx: the characters are those that ingress-nginx takes. `spaces`: whether they
 * may stand anywhere, without a meaning.
 */
export function capturingPath({ spaces }: { readonly spaces: 'refused' | 'ignored' }): Codec<CapturingTemplate> {
  const expects = 'a path of letters, digits and / - . _ ~ : with $1 to $9';
  return {
    expects,
    decode(text) {
      const value = spaces === 'ignored' ? text.replaceAll(' ', '') : text;
      if (!/^[A-Za-z0-9/\-._~:$]+$/.test(value)) return { reason: `is not ${expects}` };
      if (/\$(?![A-Za-z1-9_])/.test(value)) return { reason: 'holds a $ that begins no variable' };
      return parseCapturing(value);
    },
  };
}

function parseCapturing(text: string): ReturnType<Codec<CapturingTemplate>['decode']> {
  const parts: CapturingTemplate[number][] = [];
  // nginx reads one digit: `$12` is `$1` and a 2.
  for (const piece of text.split(/(\$[1-9])/)) {
    const [, digit] = /^\$([1-9])$/.exec(piece) ?? [];
    const parsed = digit === undefined ? parseTemplate(piece) : { value: [{ capture: Number(digit) }] };
    if ('reason' in parsed) return parsed;
    parts.push(...parsed.value);
  }
  return { value: parts };
}
