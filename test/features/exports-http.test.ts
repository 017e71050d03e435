/**
 * Exports over real connections: pieces are given back once taken, so no
 * reader may see another's bytes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'

import { openHistory } from '#src/history/open.ts'
import { storeSimulation } from '#src/simulator/simulator.ts'

import { asRecorded } from '../support/as-recorded.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'

const READERS = 6
/** More than the buffers of a connection hold, so that a reader who pauses holds its export up. */
const TEXT_BYTES_MIN = 12_000_000

const history = asRecorded(openHistory(':memory:', { chunkCacheBytes: 1_000_000 }))
const { app, key } = createHarness({ history })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
afterAll(async () => {
  await server.stop(true)
  history.dispose()
})

let path = ''
let expected = ''
beforeAll(async () => {
  const options = { seed: 'http', coins: ['btc'], timeframes: ['5m'], markets: 1 } as const
  await Array.fromAsync(storeSimulation(history, { ...options, startMs: NOW_MS - 900_000 }))
  const [market] = history.listMarkets({ coin: 'btc', limit: 1 })
  path = `/v1/btc/markets/${market?.conditionId}/export`
  const hash = createHash('sha256')
  let bytes = 0
  for (const piece of market ? history.lines('identity').rows({ market }) : []) {
    hash.update(piece.bytes)
    bytes += piece.bytes.length
  }
  expect(bytes).toBeGreaterThan(TEXT_BYTES_MIN)
  expected = hash.digest('hex')
})

const request = (encoding: string): Promise<IncomingMessage> => {
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding }
  return new Promise((resolve, reject) => {
    get(`${server.url.origin}${path}`, { headers }, resolve).on('error', reject)
  })
}

/** Reads to the end, pausing at every `pauseEach` pieces; returns the digest of the text. */
async function read(encoding: string, pauseEach: number): Promise<string> {
  const response = await request(encoding)
  const hash = createHash('sha256')
  let pieces = 0
  for await (const piece of encoding === 'gzip' ? response.pipe(createGunzip()) : response) {
    hash.update(piece as Uint8Array)
    if (++pieces % pauseEach === 0) await Bun.sleep(5)
  }
  return hash.digest('hex')
}

describe('exports over connections', () => {
  for (const encoding of ['identity', 'gzip']) {
    test(`behavior: readers of any pace get every byte, ${encoding}`, async () => {
      const all = Array.from({ length: READERS }, (_, index) => read(encoding, 10 * (index + 1)))
      expect(await Promise.all(all)).toEqual(all.map(() => expected))
    })
  }

  test('behavior: a reader who pauses gets the rest, whatever others read meanwhile', async () => {
    const paused = await request('identity')
    const hash = createHash('sha256')
    paused.pause()
    for (let others = 0; others < 3; others++) expect(await read('gzip', 100)).toBe(expected)
    for await (const piece of paused) hash.update(piece as Uint8Array)
    expect(hash.digest('hex')).toBe(expected)
  })
})
