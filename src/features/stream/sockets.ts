/** Whose a connection is of those that answer on one port: real keys and keys of test mode. */
import { TEST_KEY_PREFIX, testKeyOf } from '#src/domain/selling/api-key.ts'

import { readOperation } from './operation.ts'
import { closeCodes } from './schema.ts'
import type { Session } from './session.ts'

/** A connection as Bun's server gives it. */
export type Connection = {
  data: {
    authorization: string | null
    /** The network address that it came from. */
    address?: string
    /** Gives back its place among the connections whose key has not come yet. */
    leaveStrangers?: () => void
    session?: Session
    /** Whose it is, where it is not of the server that listens. */
    owner?: Sockets
  }
  send(text: string): unknown
  getBufferedAmount(): number
  close(code: number, reason: string): void
  /** Closes it at once. */
  terminate?(): void
}

/** What is done with connections. */
export type Sockets = {
  open(connection: Connection): void
  message(connection: Connection, text: string | Uint8Array): void
  drain(connection: Connection): void
  close(connection: Connection): void
}

/**
 * Gives what happens to a connection to its owner, by default `own`. One without a key is given to
 * `testSockets` if the key that it then sends is one of test mode; undefined while it cannot.
 */
export function shareSockets(own: Sockets, testSockets?: () => Sockets | undefined): Sockets {
  const ownerOf = ({ data }: Connection): Sockets => data.owner ?? own

  /** Who takes a message: undefined where nobody can yet, and the connection is closed. */
  function takerOf(connection: Connection, text: string | Uint8Array): Sockets | undefined {
    const { data } = connection
    const isMoved = data.session?.isAuthenticated === false && isTestAuth(text)
    if (testSockets === undefined || !isMoved) return ownerOf(connection)
    const owner = testSockets()
    if (owner === undefined) {
      connection.close(closeCodes.later.code, closeCodes.later.text)
      return undefined
    }
    ownerOf(connection).close(connection)
    delete data.session
    data.owner = owner
    owner.open(connection)
    return owner
  }

  return {
    open: (connection) => ownerOf(connection).open(connection),
    message: (connection, text) => takerOf(connection, text)?.message(connection, text),
    drain: (connection) => ownerOf(connection).drain(connection),
    close: (connection) => ownerOf(connection).close(connection),
  }
}

/** Whether a message is the operation `auth` with a key of test mode. */
function isTestAuth(text: string | Uint8Array): boolean {
  if (typeof text !== 'string' || !text.includes(TEST_KEY_PREFIX)) return false
  try {
    const operation = readOperation(text)
    if (operation.op !== 'auth' || !('key' in operation)) return false
    const { key } = operation
    return testKeyOf(key.startsWith('Bearer ') ? key : `Bearer ${key}`) !== undefined
  } catch {
    return false
  }
}
