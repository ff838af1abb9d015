import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** A finding of the linter in a planted file. */
export interface Finding {
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
  readonly rule: string;
}

interface BiomeReport {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly location: { readonly path: string; readonly start: { readonly line: number } };
  }[];
}

/** Writes the files into an empty project with this repository's linter settings and returns what the linter finds, by line. */
export function lintPlanted(files: Readonly<Record<string, string>>): readonly Finding[] {
  const folder = mkdtempSync(join(tmpdir(), 'ingress-xds-planted-'));
  try {
    for (const name of ['biome.json', 'package.json', 'tsconfig.json'])
      copyFileSync(join(root, name), join(folder, name));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return lint(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function lint(folder: string): readonly Finding[] {
  const biome = join(root, 'node_modules/.bin/biome');
  const { stdout, stderr } = spawnSync(biome, ['lint', '--reporter=json', '--max-diagnostics=none', 'src'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (!stdout.startsWith('{')) throw new Error(`biome gave no report: ${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as BiomeReport;
  const findings = diagnostics.map(({ category, location }) => ({
    file: location.path,
    line: location.start.line,
    rule: category.replace(/^lint\//, ''),
  }));
  return findings.sort((a, b) => a.line - b.line);
}
