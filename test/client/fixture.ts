/** The application on its own port, and clients of it. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Connection,
  type ConnectionOptions,
  type MessageSigner,
  openConnection,
  RedbookError,
  type Session,
  signIn,
  type TypedDataSigner,
} from '../../src/client/index.ts';
import { ethersSigner } from '../auth/signers.ts';
import { type Fixture, openFixture } from '../http/fixture.ts';

export interface ClientFixture extends Fixture {
  readonly baseUrl: string;
  readonly port: number;
  connect(options?: Partial<ConnectionOptions>): Connection;
  /** Signs a new wallet in through the client and credits it with amounts in whole units. */
  wallet(funds?: Readonly<Record<string, string>>, connection?: Connection): Promise<Session>;
}

/** Returns a new wallet that signs without a prompt. */
export function localSigner(): TypedDataSigner & MessageSigner {
  const { address, signTyped, signText } = ethersSigner();
  return {
    address,
    prompts: false,
    signTypedData: (typedData) => signTyped(typedData as Parameters<typeof signTyped>[0]),
    signMessage: signText,
  };
}

export async function openClientFixture(): Promise<ClientFixture> {
  const fixture = await openFixture();
  const server: Server = createServer(fixture.app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  const connect: ClientFixture['connect'] = (options = {}) => openConnection({ baseUrl, ...options });
  return {
    ...fixture,
    baseUrl,
    port,
    connect,
    async wallet(funds = {}, connection = connect()) {
      const session = await signIn(connection, localSigner());
      await fixture.credit(session.wallet, funds);
      return session;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await fixture.close();
    },
  };
}

export async function errorOf(call: Promise<unknown>): Promise<RedbookError> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof RedbookError) return error;
  throw error;
}
