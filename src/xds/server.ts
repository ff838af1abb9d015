/** The gRPC server: discovery and reflection over Unix sockets, loopback and mutual TLS. The only file that speaks gRPC. */
import { chmodSync } from 'node:fs';
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition } from '@grpc/grpc-js';
import { parseListenAddress, type XdsAddress, XdsAddressError } from './address.ts';
import { admit, type Client, type ClientRule, namesOf } from './clients.ts';
import { type Clock, systemClock } from './clock.ts';
import type { StreamLimits } from './limits.ts';
import type { StreamStatus, XdsObserver } from './observer.ts';
import { createReflection, type Reflection, reflectionPath, reflectionServices } from './reflection.ts';
import { type DiscoveryMethod, discoveryMethods } from './services.ts';
import { removeStaleSocket } from './stale-socket.ts';
import type { SnapshotStore } from './store.ts';
import { type AdsStream, createAdsStream, statusCodes } from './stream.ts';
import { type CredentialSource, listenTls, type TlsListener } from './tls-listener.ts';
import type { Variant } from './variant.ts';
import type { DiscoveryRequest } from './wire.ts';

export interface XdsServerOptions {
  readonly store: SnapshotStore;
  readonly observe?: XdsObserver;
  readonly clock?: Clock;
  readonly limits?: Partial<StreamLimits>;
  /** Sends private keys also over TCP, in the clear. Default: false. */
  readonly secretsOverTcp?: boolean;
  /** Absent: TCP is for loopback only. */
  readonly mutualTls?: MutualTlsOptions;
  /**
   * Encoded `google.protobuf.FileDescriptorSet` of the services and of all that their messages may carry, for reflection.
   * Asked for once, when a client asks; absent: no reflection.
   */
  readonly descriptors?: () => Uint8Array;
}

/** Every address of TCP asks for certificates. */
export interface MutualTlsOptions {
  readonly credentials: CredentialSource;
  /** Who may connect; nobody else. */
  readonly clients: readonly ClientRule[];
}

export interface XdsServer {
  /**
   * Listens on one more address: `unix:PATH` (mode 0600; a socket left behind by a dead process is replaced) or `HOST:PORT`,
   * with mutual TLS anywhere and without it on loopback, where secrets are withheld.
   * @returns the address with the port that was really bound.
   * @throws XdsAddressError for an address that is not one of these, is in use or cannot be bound.
   */
  listen(address: string): Promise<string>;
  /** The streams that are open now. */
  streams(): readonly AdsStream[];
  /** Takes no new streams, waits up to `graceMs` for replies that are under way, then ends every stream as unavailable. */
  close(options: { readonly graceMs: number }): Promise<void>;
}

type Call = ServerDuplexStream<Buffer, Buffer>;
type Handler = (call: Call) => void;

/** Decides who opens a stream: nobody known, a client, or somebody who may not. */
type Gatekeeper = (call: Call) => Client | StreamStatus | undefined;

const serverOptions = {
  // A reconnecting proxy names everything that it holds.
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.max_concurrent_streams': 1000,
  // Without pings a half-open connection keeps a proxy on old configuration for hours.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
};

const passthrough = (bytes: Buffer): Buffer => bytes;

/** Makes a server that listens nowhere yet. */
export function createXdsServer(options: XdsServerOptions): XdsServer {
  return new GrpcXdsServer(options);
}

class GrpcXdsServer implements XdsServer {
  private readonly options: XdsServerOptions;
  private readonly servers: Server[] = [];
  private readonly tlsListeners: TlsListener[] = [];
  private readonly open = new Set<AdsStream>();
  private lastStreamId = 0;
  private closing = false;
  private reflection: Reflection | undefined;

  constructor(options: XdsServerOptions) {
    this.options = options;
  }

  async listen(address: string): Promise<string> {
    const { mutualTls, secretsOverTcp = false } = this.options;
    const target = parseListenAddress(address, mutualTls !== undefined);
    if (target.kind === 'unix') await removeStaleSocket(target.path);
    if (target.kind === 'tcp' && mutualTls) return this.listenWithTls(target, mutualTls);
    const server = this.createServer(target.kind === 'unix' || secretsOverTcp, () => undefined);
    const port = await bind(server, address);
    this.servers.push(server);
    if (target.kind === 'tcp') return `${target.host}:${port}`;
    chmodSync(target.path, 0o600);
    return address;
  }

  /** TLS ends in front of the gRPC server, which cannot tell why it refuses a connection and has no way to end one. */
  private async listenWithTls(
    { host, port }: Extract<XdsAddress, { kind: 'tcp' }>,
    { credentials, clients }: MutualTlsOptions,
  ): Promise<string> {
    const { observe = () => {} } = this.options;
    const server = this.createServer(true, (call) => identify(call, clients));
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    const listener = await listenTls({
      host,
      port,
      credentials,
      onConnection: (socket) => injector.injectConnection(socket),
      onRefused: (refusal) => observe({ kind: 'refused', ...refusal }),
    }).catch((error: Error) => {
      throw new XdsAddressError(`cannot listen on ${host}:${port}: ${error.message}`);
    });
    this.servers.push(server);
    this.tlsListeners.push(listener);
    return `${host}:${listener.port}`;
  }

  private createServer(secretsAllowed: boolean, gatekeeper: Gatekeeper): Server {
    const server = new Server(serverOptions);
    for (const method of discoveryMethods) {
      const path = `/${method.service}/${method.method}`;
      addMethod(server, path, (call) => this.accept(call, method, secretsAllowed, gatekeeper(call)));
    }
    if (this.options.descriptors !== undefined) this.addReflection(server, this.options.descriptors, gatekeeper);
    return server;
  }

  streams(): readonly AdsStream[] {
    return [...this.open];
  }

  async close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.closing = true;
    for (const listener of this.tlsListeners) listener.close();
    const stopped = this.servers.map((server) => new Promise<void>((resolve) => server.tryShutdown(() => resolve())));
    for (const stream of this.open) stream.finish();
    const cancel = (this.options.clock ?? systemClock).after(graceMs, () => {
      for (const server of this.servers) server.forceShutdown();
    });
    await Promise.all(stopped);
    cancel();
  }

  private addReflection(server: Server, descriptors: () => Uint8Array, gatekeeper: Gatekeeper): void {
    const services = [...new Set(discoveryMethods.map(({ service }) => service))];
    const answer = (request: Buffer) => {
      this.reflection ??= createReflection(descriptors(), services);
      return this.reflection.answer(request);
    };
    for (const service of reflectionServices) {
      addMethod(server, reflectionPath(service), (call) => {
        const who = gatekeeper(call);
        if (isRefusal(who)) call.emit('error', { code: who.code, details: who.message });
        else reflect(call, answer);
      });
    }
  }

  private accept(call: Call, method: DiscoveryMethod, secretsAllowed: boolean, who: Client | StreamStatus | undefined) {
    if (isRefusal(who)) this.refuse(call, who);
    else this.serve(call, method, secretsAllowed, who);
  }

  private refuse(call: Call, status: StreamStatus): void {
    const { observe = () => {} } = this.options;
    const id = ++this.lastStreamId;
    call.on('error', () => {});
    observe({ kind: 'opened', stream: id, peer: call.getPeer() });
    observe({ kind: 'closed', stream: id, status });
    call.emit('error', { code: status.code, details: status.message });
  }

  private serve(
    call: Call,
    { variant, onlyType }: DiscoveryMethod,
    secretsAllowed: boolean,
    client: Client | undefined,
  ): void {
    const { store, limits, clock = systemClock, observe = () => {} } = this.options;
    const id = ++this.lastStreamId;
    const peer = call.getPeer();
    const stream = createAdsStream({
      id,
      store,
      clock,
      observe,
      secretsAllowed,
      ...(client && { client }),
      variant,
      ...(onlyType !== undefined && { onlyType }),
      ...(limits && { limits }),
      // After a failed write nothing more is asked for: the call ends by `cancelled`, `close` or `error`.
      send: (bytes, done) => void call.write(bytes as Buffer, (error?: Error | null) => !error && done()),
      close: (status) => closed(status),
    });
    const closed = (status: StreamStatus | undefined) => {
      stream.close();
      if (!this.open.delete(stream)) return;
      observe({ kind: 'closed', stream: id, status });
      if (status?.code === statusCodes.ok) call.end();
      else if (status !== undefined) call.emit('error', { code: status.code, details: status.message });
    };
    this.open.add(stream);
    observe({ kind: 'opened', stream: id, peer });
    if (this.closing) closed({ code: statusCodes.unavailable, message: 'the control plane is shutting down' });
    else readRequests(call, stream, variant, closed);
  }
}

/** Who a client is by its certificate, which was verified in the handshake. */
function identify(call: Call, clients: readonly ClientRule[]): Client | StreamStatus {
  const der = call.getAuthContext().sslPeerCertificate?.raw;
  if (der === undefined) return { code: statusCodes.unauthenticated, message: 'the client shows no certificate' };
  const names = namesOf(der);
  const named = names.length > 0 ? `called ${names.join(', ')}` : 'whose certificate has no name';
  const message = `the client ${named} is not one of those that may connect`;
  return admit(clients, names) ?? { code: statusCodes.permissionDenied, message };
}

function isRefusal(who: Client | StreamStatus | undefined): who is StreamStatus {
  return who !== undefined && 'code' in who;
}

function readRequests(
  call: Call,
  stream: AdsStream,
  variant: Variant,
  closed: (status: StreamStatus | undefined) => void,
): void {
  let first = true;
  call.on('data', (bytes: Buffer) => {
    const request = decode(variant, bytes, first);
    first = false;
    if (request === undefined) closed({ code: statusCodes.invalidArgument, message: 'not a discovery request' });
    else stream.receive(request);
  });
  call.on('end', () => stream.endInput());
  // A write callback may never come after these, so the stream must not wait for it.
  call.on('cancelled', () => closed(undefined));
  call.on('close', () => closed(undefined));
  call.on('error', () => closed(undefined));
}

function decode(variant: Variant, bytes: Buffer, withNode: boolean): DiscoveryRequest | undefined {
  try {
    return variant.decode(bytes, withNode);
  } catch {
    return undefined;
  }
}

function reflect(call: Call, answer: (request: Buffer) => Uint8Array): void {
  call.on('data', (request: Buffer) => {
    try {
      call.write(answer(request) as Buffer);
    } catch {
      call.emit('error', { code: statusCodes.invalidArgument, details: 'not a reflection request' });
    }
  });
  call.on('end', () => call.end());
  call.on('error', () => {});
}

/** A method that is a bidirectional stream of bytes: messages are encoded and decoded elsewhere. */
function addMethod(server: Server, path: string, handler: Handler): void {
  const definition: ServiceDefinition = {
    method: {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: passthrough,
      requestDeserialize: passthrough,
      responseSerialize: passthrough,
      responseDeserialize: passthrough,
    },
  };
  server.addService(definition, { method: handler });
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(new XdsAddressError(`cannot listen on ${address}: ${error.message}`));
    });
  });
}
