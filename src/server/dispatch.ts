/**
 * Two servers on one port: the test server answers requests and connections with a test key, and
 * the real server all others. Neither knows of the other.
 */

import { TEST_KEY_PREFIX, testKeyOf } from '#src/domain/selling/api-key.ts'
import { readOperation } from '#src/features/stream/operation.ts'
import { closeCodes } from '#src/features/stream/schema.ts'
import type { Connection, Sockets } from '#src/features/stream/sockets.ts'

import type { Reader } from './app.ts'
import type { Usage } from './extension.ts'
import type { TestServer } from './test-server.ts'

export type Dispatch = ReturnType<typeof dispatchByKey>

type Real = Pick<Reader, 'fetch' | 'stream' | 'tick' | 'drain'> &
  Pick<Reader, 'flushUsage' | 'takeUsage' | 'putUsage'>

/** Without a test server, the real one refuses test keys like any key that it does not know. */
export function dispatchByKey(real: Real, test: TestServer | undefined) {
  const fetch: Reader['fetch'] = (request, peers) =>
    test !== undefined && testKeyOf(request.headers.get('authorization')) !== undefined
      ? test.fetch(request, peers)
      : real.fetch(request, peers)
  const { websocket } = real.stream
  return {
    fetch,
    stream: { websocket: { ...websocket, ...dispatchMessages(websocket, test?.sockets) } },
    /** Returns whether one of them has more to hand on soon. */
    tick(): boolean {
      const hasBacklog = real.tick()
      return test?.tick() || hasBacklog
    },
    drain(): void {
      real.drain()
      test?.drain()
    },
    flushUsage(): boolean {
      return [real.flushUsage(), test?.flushUsage()].includes(true)
    },
    takeUsage: (): Usage => ({ real: real.takeUsage(), test: test?.takeUsage() ?? [] }),
    putUsage(taken: Usage): void {
      real.putUsage(taken.real)
      test?.putUsage(taken.test)
    },
  }
}

/**
 * A connection belongs to the server that made it. One that was made without a key moves to the
 * test server if its first key is a test key; while that server has no data, it is closed.
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

/** Whether a message is the operation `auth` with a test key. */
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
