/** A key that another process has just made: a server on PostgreSQL knows it at once. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createApiKey } from '#src/domain/selling/api-key.ts'

import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { makeKey } from '../../support/harness.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { openLedgerIn } from '../../support/stores.ts'
import { systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 300_000
const KEYS = 30

describe.skipIf(postgresPrograms === undefined)('a key that was made by another process', () => {
  const { placeOf } = usePostgres()

  /** A server, and a ledger in another process that makes keys. */
  async function start(stack: AsyncDisposableStack, name: string) {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-new-keys-'))
    stack.defer(() => rmSync(folder, { recursive: true, force: true }))
    const place = placeOf(name)
    const server = await startKillableServer({
      BOOKFEED_DATA: folder,
      BOOKFEED_PORT: '0',
      BOOKFEED_LOG: 'off',
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
      BOOKFEED_LEDGER: place,
    })
    stack.defer(server.kill)
    const ledger = stack.use(await openLedgerIn(place, { nowMs: systemClock() }))
    return { origin: server.origin, makeKey: () => makeKey(ledger, undefined) }
  }

  test.each([
    ['the first thread', '/v1/keys'],
    ['a thread for data', '/v1/btc/markets'],
  ])(
    'behavior: is known to %s from its first request on',
    async (_, path) => {
      await using stack = new AsyncDisposableStack()
      const { origin, makeKey } = await start(stack, `new_keys${path.replaceAll('/', '_')}`)
      const statuses: number[] = []
      for (let made = 0; made < KEYS; made++) {
        const headers = { authorization: `Bearer ${await makeKey()}` }
        statuses.push((await fetch(origin + path, { headers })).status)
      }
      expect(statuses.filter((status) => status === 401)).toEqual([])
    },
    MS_MAX,
  )

  test(
    'behavior: is known to a WebSocket that sends it at once, and what is sent behind it waits',
    async () => {
      await using stack = new AsyncDisposableStack()
      const { origin, makeKey } = await start(stack, 'new_keys_socket')
      const heard: string[] = []
      for (let made = 0; made < KEYS; made++) heard.push(await talk(origin, makeKey))
      expect(heard.filter((each) => each !== 'authenticated, error unknown')).toEqual([])
      // One that nobody made ends the connection as before.
      const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
      expect(await talk(origin, async () => createApiKey(random))).toBe('4001')
    },
    MS_MAX,
  )
})

let addresses = 0

/** The first two messages, or the code of the end, of a connection that sends a key just made. */
async function talk(origin: string, makeKey: () => Promise<string>): Promise<string> {
  // From an address of its own: those without a key are limited.
  const headers = { 'x-forwarded-for': `10.0.0.${++addresses}` }
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/stream`, { headers })
  const { promise, resolve } = Promise.withResolvers<string>()
  const heard: string[] = []
  socket.onopen = async () => {
    socket.send(JSON.stringify({ op: 'auth', key: await makeKey() }))
    socket.send(JSON.stringify({ op: 'unsubscribe', id: 'unknown' }))
  }
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    const { type, id } = JSON.parse(data) as { type: string; id?: string }
    heard.push(id === undefined ? type : `${type} ${id}`)
    if (heard.length === 2) resolve(heard.join(', '))
  }
  socket.onclose = ({ code }) => resolve(String(code))
  try {
    return await promise
  } finally {
    socket.close()
  }
}
