import { UsageError } from './flags.ts';

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/**
 * The arguments with every `--flag=VALUE` of a boolean flag spelt `true` or `false`. The values are those of ingress-nginx's flag
 * library; the one here would take whatever is not `true` for false, without a word.
 * @throws UsageError for any other value
 */
export function spellBooleans(args: readonly string[], booleans: ReadonlySet<string>): string[] {
  return args.map((arg) => {
    const [, name = '', value = ''] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
    if (!booleans.has(name)) return arg;
    if (TRUE.has(value)) return `--${name}=true`;
    if (FALSE.has(value)) return `--${name}=false`;
    throw new UsageError(`--${name}=${value}: must be true or false`);
  });
}
