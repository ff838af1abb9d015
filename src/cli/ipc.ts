import { type RuntimePaths, runtimePaths } from './runtime-folder.ts';
import { outliveTerminal } from './signals.ts';

/**
 * What the parent and the control plane say to each other, over the IPC channel that Node opens between them.
 * The control plane finds the runtime folder in its environment, so that its arguments are those of `run`.
 */

/**
 * `proxyStarted`: a proxy begins its life, or runs when a control plane begins to listen. `draining`: the end has begun, health checks must fail, everything else goes on.
 * `stop`: end.
 */
export type ParentMessage = { readonly type: 'proxyStarted' | 'draining' | 'stop' };

/** `listening`: the xDS socket takes connections, or the configuration of nginx is there, so the proxy may start. */
export type ControlPlaneMessage = { readonly type: 'listening' };

export const RUNTIME_FOLDER_VARIABLE = 'INGRESS_XDS_RUNTIME_FOLDER';

/** Exit code of a control plane that cannot work with this configuration; before `listening` it ends the whole tree. */
export const EXIT_CONFIGURATION = 2;

export function isListening(message: unknown): message is ControlPlaneMessage {
  return typeOf(message) === 'listening';
}

export interface ParentHandlers {
  readonly onProxyStarted?: () => void;
  readonly onDraining: () => void;
  readonly onStop: () => void;
}

/** The control plane's end of the channel. */
export interface ParentLink {
  readonly paths: RuntimePaths;
  /** Tells the parent that the xDS socket takes connections. */
  tellListening(): void;
  /** Closes the channel, which otherwise keeps this process alive. */
  close(): void;
}

/**
 * Connects a control plane to the parent that started it; `undefined` if no parent did. When the parent dies, so does this
 * process: at once, because nobody is left to tell it anything.
 */
export function connectToParent(handlers: ParentHandlers): ParentLink | undefined {
  const folder = process.env[RUNTIME_FOLDER_VARIABLE];
  if (process.send === undefined || folder === undefined) return undefined;
  outliveTerminal();
  const exit = () => process.exit(1);
  process.on('message', (message) => {
    if (typeOf(message) === 'proxyStarted') handlers.onProxyStarted?.();
    if (typeOf(message) === 'draining') handlers.onDraining();
    if (typeOf(message) === 'stop') handlers.onStop();
  });
  process.once('disconnect', exit);
  return {
    paths: runtimePaths(folder),
    tellListening: () => send({ type: 'listening' }),
    close: () => {
      process.off('disconnect', exit);
      if (process.connected) process.disconnect();
    },
  };
}

/** A message to a parent that has just died is lost; the end of the channel follows. */
function send(message: ControlPlaneMessage): void {
  process.send?.(message, undefined, undefined, () => {});
}

function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
}
