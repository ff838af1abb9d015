/** From what somebody has written to flags in one spelling, with values that are checked. */
import { UsageError } from '../flags.ts';
import { parseDuration } from './duration.ts';
import type { Flag } from './flag.ts';
import { nearestName } from './suggestion.ts';

type FlagTable = Readonly<Record<string, Flag>>;

export interface SpellingOptions {
  readonly flags: FlagTable;
  /** Says where an unknown flag belongs (`serve`), if anywhere. */
  readonly commandsWith: (name: string) => readonly string[];
}

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);
const FOR_ALL_COMMANDS: ReadonlySet<string> = new Set(['--help', '-h', '--version']);

/**
 * The arguments with every flag as `--name=value`, the spelling that is read in one way only. Takes what the flag library of
 * ingress-nginx takes: `--flag value`, `--flag=value`, `--bool`, `-v=2`, `-v 2`, `-v2`, and names with underscores.
 * @throws UsageError for unknown flags and for values that do not fit; Error for flags that are refused.
 */
export function spellFlags(args: readonly string[], { flags, commandsWith }: SpellingOptions): string[] {
  const names = namesOf(flags);
  const nameOf = (spelled: string) => names.get(spelled.replaceAll('_', '-'));
  const spelt: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (arg === '--') return [...spelt, ...args.slice(index)];
    const written = parseFlag(arg);
    if (written === undefined || FOR_ALL_COMMANDS.has(arg)) {
      spelt.push(arg);
      continue;
    }
    const name = nameOf(written.name);
    const flag = name === undefined ? undefined : flags[name];
    if (name === undefined || flag === undefined) throw unknownFlag(written.name, flags, commandsWith);
    const next = args[index + 1];
    const takesNext = written.value === undefined && flag.type !== 'boolean';
    if (takesNext) {
      const isFlag = next !== undefined && nameOf(parseFlag(next)?.name ?? '') !== undefined;
      if (next === undefined || isFlag) throw new UsageError(`${dashed(name)} needs a value`);
      index++;
    } else if (written.value === undefined && next !== undefined && (TRUE.has(next) || FALSE.has(next))) {
      throw new UsageError(`${dashed(name)} ${next}: write ${dashed(name)}=${next}`);
    }
    const value = written.value ?? (takesNext ? next : undefined) ?? 'true';
    if (flag.refused !== undefined) throw new Error(`--${name} is not supported: ${flag.refused}`);
    spelt.push(`--${name}=${checkedValue(name, flag, value)}`);
  }
  return spelt;
}

/** `-v` for `v` */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

interface WrittenFlag {
  readonly name: string;
  readonly value: string | undefined;
}

function parseFlag(arg: string): WrittenFlag | undefined {
  const [, long, longValue] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
  if (long !== undefined) return { name: long, value: longValue };
  const [, short, shortValue] = /^-([^-=])(.*)$/s.exec(arg) ?? [];
  if (short === undefined) return undefined;
  return { name: short, value: shortValue === '' ? undefined : shortValue?.replace(/^=/, '') };
}

/** Every name and alias of a flag → its name. */
function namesOf(flags: FlagTable): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(flags).flatMap(([name, flag]) => [name, ...[flag.alias ?? []].flat()].map((each) => [each, name])),
  );
}

function unknownFlag(name: string, flags: FlagTable, commandsWith: SpellingOptions['commandsWith']): UsageError {
  const elsewhere = commandsWith(name);
  if (elsewhere.length > 0) return new UsageError(`--${name} is a flag of ${elsewhere.join(' and ')}`);
  const meant = nearestName(name.replaceAll('_', '-'), Object.keys(flags));
  return new UsageError(`unknown flag ${dashed(name)}${meant === undefined ? '' : `; did you mean ${dashed(meant)}?`}`);
}

function checkedValue(name: string, flag: Flag, value: string): string {
  const fault = (what: string) => new UsageError(`${dashed(name)}=${value}: must be ${what}`);
  if (flag.type === 'boolean') {
    if (TRUE.has(value)) return 'true';
    if (FALSE.has(value)) return 'false';
    throw fault('true or false');
  }
  // Without its one folder, a command would turn to the cluster.
  if (flag.array && value === '') throw new UsageError(`${dashed(name)} is empty`);
  if (flag.type === 'number' && (value.trim() === '' || !Number.isFinite(Number(value)))) throw fault('a number');
  if (flag.duration && parseDuration(value) === undefined) throw fault('a duration such as 30s or 1m30s');
  if (flag.choices && !flag.choices.includes(value)) throw fault(flag.choices.join(' or '));
  return value;
}
