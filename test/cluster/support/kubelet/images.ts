import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Image {
  /** Runs when a container has no `command`. */
  readonly entrypoint: readonly string[];
  /** What lies below `/` in the image: programs are looked for here before they are on this machine. */
  readonly root?: string;
}

export type Images = (image: string) => Image | undefined;

const SOURCES = join(import.meta.dirname, '../../../..');

export const ECHO_IMAGE = 'ingress-xds/echo';
export const PRODUCT_IMAGE = 'ingress-xds/ingress-xds';

/**
 * The programs that pods can run: `image` of a container → what it holds. Registry, tag and digest do not count; undefined: there
 * is no such image.
 *
 * @param root folder in which the image of the product is laid out
 */
export function createImages(root: string, envoyPath: string): Images {
  layOut(root, envoyPath);
  const images: Readonly<Record<string, Image>> = {
    [ECHO_IMAGE]: { entrypoint: [process.execPath, join(import.meta.dirname, 'echo-pod.ts')] },
    [PRODUCT_IMAGE]: { entrypoint: [join(root, 'usr/local/bin/ingress-xds')], root },
  };
  return (image) => {
    const repository = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
    return images[repository.split('/').slice(-2).join('/')];
  };
}

/** As `envoy/install.sh` does it, but with links to the sources, which need no build: `test/image` tests the script. */
function layOut(root: string, envoyPath: string): void {
  // A node that starts again finds it.
  rmSync(root, { recursive: true, force: true });
  const bin = join(root, 'usr/local/bin');
  const library = join(root, 'usr/local/lib/ingress-xds');
  mkdirSync(bin, { recursive: true });
  mkdirSync(join(library, 'dist/cli'), { recursive: true });
  const main = JSON.stringify(join(SOURCES, 'src/cli/main.ts'));
  writeFileSync(
    join(library, 'dist/cli/main.js'),
    `import { main } from ${main};\nprocess.exitCode = await main(process.argv.slice(2));\n`,
  );
  writeFileSync(join(library, 'package.json'), '{"type":"module"}');
  const entry = join(library, 'entry.sh');
  copyFileSync(join(SOURCES, 'envoy/entry.sh'), entry);
  symlinkSync(process.execPath, join(bin, 'node'));
  symlinkSync(envoyPath, join(bin, 'envoy'));
  for (const name of ['usr/local/bin/ingress-xds', 'nginx-ingress-controller', 'wait-shutdown']) {
    symlinkSync(entry, join(root, name));
  }
}
