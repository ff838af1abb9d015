import { join } from 'node:path';

/** The programs that pods can run: `image` of a container → command line. Registry, tag and digest do not count. */
const images: Readonly<Record<string, readonly string[]>> = {
  'ingress-xds/echo': [process.execPath, join(import.meta.dirname, 'echo-pod.ts')],
  'ingress-xds/ingress-xds': [process.execPath, join(import.meta.dirname, '../../../../src/cli/main.ts')],
};

export const ECHO_IMAGE = 'ingress-xds/echo';
export const PRODUCT_IMAGE = 'ingress-xds/ingress-xds';

/** Undefined: there is no such image. */
export function commandOf(image: string): readonly string[] | undefined {
  const repository = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  return images[repository.split('/').slice(-2).join('/')];
}
