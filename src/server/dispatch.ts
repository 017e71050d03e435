/**
 * Dispatches requests and connections by key: those with a test key to the test server, all others
 * to the real app. Neither knows of the other.
 */

import type { UsageMeter } from '#src/access/usage-meter.ts'
import { TEST_KEY_PREFIX, testKeyOf } from '#src/domain/selling/api-key.ts'
import { readOperation } from '#src/features/stream/operation.ts'
import { closeCodes } from '#src/features/stream/schema.ts'
import type { Connection, Sockets } from '#src/features/stream/sockets.ts'

import type { ServedApp } from './app.ts'
import type { TestServer } from './test-server.ts'

/** Usage that is not in a ledger yet. */
export type Usage = Record<'real' | 'test', ReturnType<UsageMeter['take']>>

/** Without a test server, the real app refuses test keys like any unknown key. */
export function dispatchByKey(real: ServedApp, test: TestServer | undefined) {
  const fetch: ServedApp['fetch'] = (request, peers) =>
    test !== undefined && testKeyOf(request.headers.get('authorization')) !== undefined
      ? test.fetch(request, peers)
      : real.fetch(request, peers)
  const { websocket } = real.stream
  return {
    fetch,
    stream: { websocket: { ...websocket, ...dispatchMessages(websocket, test?.sockets) } },
    /** Returns true if rows remain to be sent soon. */
    tick(): boolean {
      const hasBacklog = real.tick()
      return test?.tick() || hasBacklog
    },
    drain(): void {
      real.drain()
      test?.drain()
    },
    async flushUsage(): Promise<boolean> {
      return (await Promise.all([real.flushUsage(), test?.flushUsage()])).includes(true)
    },
    takeUsage: (): Usage => ({ real: real.takeUsage(), test: test?.takeUsage() ?? [] }),
    putUsage(taken: Usage): void {
      real.putUsage(taken.real)
      test?.putUsage(taken.test)
    },
  }
}

/**
 * A connection belongs to the server that accepted it. A connection without a key moves to the test
 * server if its first key is a test key; it is closed if that server has no data yet.
 */
function dispatchMessages(real: Sockets, testSockets?: () => Sockets | undefined): Sockets {
  const ownerOf = ({ data }: Connection): Sockets => data.owner ?? real

  function move(connection: Connection, owner: Sockets): void {
    const { data } = connection
    ownerOf(connection).close(connection)
    delete data.session
    data.owner = owner
    owner.open(connection)
  }

  return {
    open: (connection) => ownerOf(connection).open(connection),
    message(connection, text) {
      const isKeyless = connection.data.session?.isAuthenticated === false
      if (testSockets !== undefined && isKeyless && isTestAuth(text)) {
        const test = testSockets()
        if (test === undefined) {
          connection.close(closeCodes.later.code, closeCodes.later.text)
          return
        }
        move(connection, test)
      }
      ownerOf(connection).message(connection, text)
    },
    drain: (connection) => ownerOf(connection).drain(connection),
    close: (connection) => ownerOf(connection).close(connection),
  }
}

/** True if a message is the operation `auth` with a test key. */
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
