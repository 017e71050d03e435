/**
 * Streams of events in gzip are those of plain text, whatever rows they have. `GZIP_SEEDS=25 bun test
 * test/features/live-gzip.test.ts` draws more of them.
 */
import { describe, expect, test } from 'bun:test'
import { createGunzip, gunzipSync } from 'node:zlib'

import type { Outcome } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { aSnapshot, conditionIdOf, createBookMaker, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'

const MARKETS = 2
// biome-ignore lint/style/noProcessEnv: how much is drawn is not for the product's settings.
const { GZIP_SEEDS = '3' } = process.env
const SEEDS = Number(GZIP_SEEDS)

/** States and trades of some markets, in batches. */
async function createWriter(random: Random) {
  const history = openHistory(':memory:', { lagMs: 0 })
  const books = Array.from({ length: MARKETS }, () => ({
    up: createBookMaker(random),
    down: createBookMaker(random),
  }))
  let ms = 0
  for (let number = 1; number <= MARKETS; number++)
    await history.putMarket({
      conditionId: conditionIdOf(number),
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      windowStartMs: START_MS,
      windowEndMs: START_MS + 300_000,
    })
  async function write(): Promise<void> {
    const states = Array.from({ length: 1 + random.integer(20) }, () => {
      const number = 1 + random.integer(MARKETS)
      const outcome: Outcome = random.integer(2) ? 'up' : 'down'
      ms += 1 + random.integer(5)
      const timestampMs = START_MS + ms
      const conditionId = conditionIdOf(number)
      return aSnapshot({ conditionId, outcome, timestampMs, ...books[number - 1]?.[outcome]() })
    })
    await history.record({
      snapshots: states,
      gaps: [],
      trades: states.slice(0, 2).map(({ conditionId, outcome, timestampMs }) => ({
        conditionId,
        trade: { timestampMs, outcome, price: 510_000, size: 1 + random.integer(1e9), side: 'buy' },
      })),
    })
  }
  return { history, write }
}

/** Reads a body; its pieces as they came. */
function take(response: Response) {
  const pieces: Uint8Array[] = []
  const read = async () => {
    for await (const piece of response.body ?? []) pieces.push(piece)
  }
  return { response, pieces, ended: read() }
}

/** What was written, without what fills the last bytes, and when one is to come back. */
const stripped = (text: string) => text.replace(/^:.\n\n/gm, '\n').replace(/retry:\d+\n\n$/, '')

/** Their ids are places in other markets too, where those who came later may be elsewhere. */
const rowsIn = (text: string) =>
  [...text.matchAll(/^event:row\nid:.*\n(data:.*)$/gm)].map(([, data]) => data)

/** Inflates piece by piece, each byte by itself; the text after each piece. */
async function* inflate(pieces: readonly Uint8Array[]): AsyncGenerator<string> {
  const gunzip = createGunzip()
  let text = ''
  gunzip.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
  })
  for (const piece of pieces) {
    for (const byte of piece)
      await new Promise<void>((done) => gunzip.write(Uint8Array.of(byte), () => done()))
    yield text
  }
}

const channels = ['snapshots', 'snapshots', 'quotes', 'prices', 'trades']

function randomPath(random: Random): string {
  const channel = random.pick(channels)
  const path = random.pick(['/v1/btc/live', `/v1/btc/markets/${conditionIdOf(1)}/live`])
  const depth = channel === 'snapshots' ? random.pick(['', '&depth=1', '&depth=10']) : ''
  return `${path}?channel=${channel}${depth}${random.pick(['', '&outcome=up', '&outcome=down'])}`
}

async function followBoth(random: Random): Promise<void> {
  const { history, write } = await createWriter(random)
  const { app, key, time } = createHarness({ history })
  time.nowMs = START_MS + 60_000
  const path = `http://localhost${randomPath(random)}`
  const follow = async (encoding: string) => {
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding }
    return take(await app.fetch(new Request(path, { headers })))
  }
  await write()
  const plain = await follow('identity')
  const zipped = [await follow('gzip')]
  for (let round = 0; round < 12; round++) {
    if (round === 3) zipped.push(await follow('gzip'))
    await write()
    // A tick may stop before everything is written.
    for (let tick = 0; tick < 5; tick++) {
      app.tick()
      await new Promise(setImmediate)
    }
  }
  // One that came later is in step with the first, and both with none of plain text.
  expect(app.live.counts).toEqual({ groups: 2, subscribers: 3 })
  app.live.dismiss()
  await Promise.all([plain, ...zipped].map(({ ended }) => ended))
  const text = stripped(Buffer.concat(plain.pieces).toString())
  const [first, later] = zipped
  const whole = gunzipSync(Buffer.concat(first?.pieces ?? [])).toString()
  expect(first?.response.headers.get('content-encoding')).toBe('gzip')
  expect([path, stripped(whole) === text]).toEqual([path, true])
  for await (const got of inflate(first?.pieces ?? []))
    expect([path, whole.startsWith(got) && got.endsWith('\n\n')]).toEqual([path, true])
  const rest = rowsIn(stripped(gunzipSync(Buffer.concat(later?.pieces ?? [])).toString()))
  expect([path, rowsIn(text).slice(-rest.length || Infinity)]).toEqual([path, rest])
  history.dispose()
}

describe('events in gzip', () => {
  test('behavior: inflated byte by byte they are the plain text, each whole with its last byte', async () => {
    for (let seed = 0; seed < SEEDS; seed++) await followBoth(createRandom(`live gzip ${seed}`))
  }, 300_000)
})
