/** A gRPC client of single discovery methods: one request, then the end of the input. */
import { credentials, Client as GrpcClient } from '@grpc/grpc-js';

/** Sends one encoded request and resolves with the bytes of every response. Rejects when the stream ends with a fault. */
export async function callOnce(address: string, path: string, request: Buffer): Promise<Buffer[]> {
  const client = new GrpcClient(address, credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(path, same, same);
  const responses: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
  call.on('data', (bytes: Buffer) => responses.push(bytes));
  call.on('error', reject);
  call.on('end', () => resolve(responses));
  call.write(request);
  call.end();
  return promise.finally(() => client.close());
}
