/** Samples of a scrape. */
export interface Metrics {
  /** Sum of the samples of this name with these labels; 0 without any. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function parseMetrics(text: string): Metrics {
  const samples = text.split('\n').flatMap(parseLine);
  return {
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
        .reduce((sum, { value }) => sum + value, 0),
  };
}

function parseLine(line: string): Sample[] {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
  if (name === undefined) return [];
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text]);
  return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
}
