/** A WebSocket connection, and what a service does with connections. */

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
    /** The service that it belongs to. */
    owner?: Sockets
  }
  send(text: string): unknown
  getBufferedAmount(): number
  close(code: number, reason: string): void
  /** Closes it at once. */
  terminate?(): void
}

/** What the server that listens keeps of a live connection. */
export type StreamData = Connection['data']

/** What is done with connections. */
export type Sockets = {
  open(connection: Connection): void
  message(connection: Connection, text: string | Uint8Array): void
  drain(connection: Connection): void
  close(connection: Connection): void
}
