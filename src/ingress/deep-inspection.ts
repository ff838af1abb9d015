import type { Ingress } from '../cluster/objects.ts';
import { quote } from './diagnose.ts';
import type { Refusal } from './refusal.ts';

/**
 * Text that ingress-nginx refuses to find in hosts, paths and `spec.tls`, since it once led out of its configuration file. Here
 * no text reaches a configuration unquoted; it is refused so that what was refused before stays refused.
 */
const DANGEROUS: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /alias[^;]*;/, what: 'a directive (alias … ;)' },
  { pattern: /root[^;]*;/, what: 'a directive (root … ;)' },
  { pattern: /_by_lua/, what: 'a directive (…_by_lua)' },
  { pattern: /\/etc\/(?:passwd|shadow|group|nginx|ingress-controller)/, what: 'a file of the controller (/etc/…)' },
  { pattern: /\/var\/run\/secrets/, what: 'the folder of secrets (/var/run/secrets)' },
];

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
  const found = DANGEROUS.find(({ pattern }) => text !== undefined && pattern.test(text));
  if (text === undefined || found === undefined) return [];
  return [{ field, reason: `${quote(text)} holds ${found.what}, which --deep-inspect refuses` }];
}
