import type { Ingress } from '../cluster/objects.ts';
import { quote } from './diagnose.ts';
import type { Refusal } from './refusal.ts';

/**
 * Text that ingress-nginx refuses to find in hosts, paths and `spec.tls`, since it once led out of its configuration file. Here
 * no text reaches a configuration unquoted; it is refused so that what was refused before stays refused.
 */
const DANGEROUS: readonly { readonly isIn: (text: string) => boolean; readonly what: string }[] = [
  { isIn: (text) => holdsDirective(text, 'alias'), what: 'a directive (alias … ;)' },
  { isIn: (text) => holdsDirective(text, 'root'), what: 'a directive (root … ;)' },
  { isIn: (text) => text.includes('_by_lua'), what: 'a directive (…_by_lua)' },
  {
    isIn: (text) => /\/etc\/(?:passwd|shadow|group|nginx|ingress-controller)/.test(text),
    what: 'a file of the controller (/etc/…)',
  },
  { isIn: (text) => text.includes('/var/run/secrets'), what: 'the folder of secrets (/var/run/secrets)' },
];

/** The name and somewhere after it a `;`. An expression would take time that grows with the square of the text. */
function holdsDirective(text: string, name: string): boolean {
  const start = text.indexOf(name);
  return start >= 0 && text.includes(';', start);
}

/** `--deep-inspect`: what is dangerous in an Ingress, in the order of its fields. */
export function inspectDeeply({ rules, tls }: Ingress): Refusal[] {
  return [
    ...rules.flatMap(({ host, paths }, rule) => [
      ...inspect(`spec.rules[${rule}].host`, host),
      ...paths.flatMap(({ path }, index) => inspect(`spec.rules[${rule}].http.paths[${index}].path`, path)),
    ]),
    ...tls.flatMap(({ secretName, hosts }, entry) => [
      ...inspect(`spec.tls[${entry}].secretName`, secretName),
      ...hosts.flatMap((host, index) => inspect(`spec.tls[${entry}].hosts[${index}]`, host)),
    ]),
  ];
}

function inspect(field: string, text: string | undefined): Refusal[] {
  const found = DANGEROUS.find(({ isIn }) => text !== undefined && isIn(text));
  if (text === undefined || found === undefined) return [];
  return [{ field, reason: `${quote(text)} holds ${found.what}, which --deep-inspect refuses` }];
}
