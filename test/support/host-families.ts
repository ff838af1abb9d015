/** Host names as clusters have them: many that differ in few characters, which is what a weak hash cannot tell apart. */

const WORDS = [
  ...['acme', 'alpha', 'apple', 'atlas', 'aurora', 'beacon', 'birch', 'blue', 'bravo', 'cedar', 'cobalt', 'comet'],
  ...['coral', 'crane', 'delta', 'dune', 'eagle', 'ember', 'falcon', 'fern', 'forge', 'garnet', 'glacier', 'harbor'],
  ...['hazel', 'indigo', 'iris', 'jade', 'juniper', 'kestrel', 'lagoon', 'larch', 'lotus', 'maple', 'meadow', 'nimbus'],
  ...['nova', 'oak', 'ocean', 'onyx', 'opal', 'orchid', 'pearl', 'pine', 'quartz', 'raven', 'ridge', 'river', 'sage'],
  ...['sierra', 'slate', 'solar', 'spruce', 'stone', 'summit', 'tango', 'thistle', 'topaz', 'tulip', 'umber', 'vale'],
  ...['violet', 'willow', 'yarrow', 'zephyr', 'zinc'],
];
const ENVIRONMENTS = ['dev', 'test', 'staging', 'prod', 'demo'];
const APPS = ['web', 'api', 'auth', 'grafana', 'argocd', 'admin', 'docs', 'search', 'billing', 'chat'];

/** The same names at every call. `size`: names of each family; at most about 10,000. */
export function families(size: number): ReadonlyMap<string, readonly string[]> {
  const make = (name: (index: number) => string) => [
    ...new Set(Array.from({ length: size }, (_, index) => name(index))),
  ];
  const pick = (list: readonly string[], index: number) => list[index % list.length] ?? '';
  const word = (index: number) => pick(WORDS, index) + pick(['', ...WORDS], Math.floor(index / WORDS.length));
  return new Map(
    Object.entries({
      'h<i>': make((index) => `h${index}.example.com`),
      'tenant-<i>': make((index) => `tenant-${index}.apps.example.com`),
      'pr-<i>': make((index) => `pr-${index}.preview.example.dev`),
      'h<00000>': make((index) => `h${String(index).padStart(5, '0')}.example.com`),
      'www.<name>': make((index) => `www.${word(index)}.com`),
      '<app>.<team>': make((index) => `${pick(APPS, index)}.${word(Math.floor(index / APPS.length))}.example.com`),
      '<app>-<env>-<team>': make(
        (index) =>
          `${pick(APPS, index)}-${pick(ENVIRONMENTS, Math.floor(index / 10))}-${word(Math.floor(index / 50))}.k8s.example.com`,
      ),
      '<name>.shop': make((index) => `${word(index)}.shop.com`),
    }),
  );
}
