/** WebSocket connections, and the handlers of a service for them. */

import type { Session } from './session.ts'

/** A connection of Bun's server. */
export type Connection = {
  data: {
    authorization: string | null
    /** Network address of the client. */
    address?: string
    /** Returns the slot of a connection that has not sent a key yet. */
    leaveStrangers?: () => void
    session?: Session
    /** Service that handles the connection. */
    owner?: Sockets
  }
  send(message: string | Uint8Array<ArrayBuffer>): unknown
  getBufferedAmount(): number
  close(code: number, reason: string): void
  /** Closes the connection at once. */
  terminate?(): void
}

/** Data that Bun's server keeps for each connection. */
export type StreamData = Connection['data']

/** Handlers of connections. */
export type Sockets = {
  open(connection: Connection): void
  message(connection: Connection, text: string | Uint8Array): void
  drain(connection: Connection): void
  close(connection: Connection): void
}
