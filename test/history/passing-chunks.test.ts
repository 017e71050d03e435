/** Chunks that are read for one use give their memory back after it. */
import { describe, expect, spyOn, test } from 'bun:test'

import { Chunk } from '#src/history/codec/chunk.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, getMarket, someSnapshots } from './books.ts'

const CHUNKS = 20
const NO_ID = 1_000_000_000

async function fill(history: MarketHistory): Promise<void> {
  await appendAll(history, someSnapshots(CHUNKS * 100 + 1))
}

/** How many chunks give their memory back until the round of the event loop after `body`. */
async function countReleased(body: (history: MarketHistory) => void): Promise<number> {
  const history = openHistory(':memory:', { chunkCacheBytes: 0 })
  await fill(history)
  await new Promise<void>((resolve) => void setImmediate(resolve))
  const release = spyOn(Chunk.prototype, 'release')
  try {
    body(history)
    await new Promise<void>((resolve) => void setImmediate(resolve))
    return release.mock.calls.length
  } finally {
    release.mockRestore()
    history.dispose()
  }
}

describe('memory of passing chunks', () => {
  test('behavior: of those that an id was looked for in', async () => {
    const released = await countReleased((history) => {
      expect(history.findPosition(getMarket(history), NO_ID)).toBeUndefined()
    })
    expect(released).toBe(CHUNKS)
  })

  test('behavior: of a whole stream, the last one too', async () => {
    const lines = await countReleased((history) => {
      for (const _ of history.lines('gzip').rows({ market: getMarket(history) }));
    })
    const runs = await countReleased((history) => {
      for (const _ of history.runs({ market: getMarket(history) }));
    })
    expect([lines, runs]).toEqual([CHUNKS, CHUNKS])
  })

  test('behavior: of a stream that is left', async () => {
    const released = await countReleased((history) => {
      for (const _ of history.runs({ market: getMarket(history) })) break
    })
    expect(released).toBe(1)
  })
})
