/**
 * The contract of a history whose sealed books go to a bucket after each of its first writes, and
 * then after every fourth; on PostgreSQL with `CONFORM=all`, which takes minutes.
 */
import { afterAll, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { createBlockingPut } from '../support/blocking-put.ts'
import { onBucket } from '../support/engines/bucket.ts'
import { onEachEngine } from '../support/engines/each.ts'
import { conform } from './conformance.ts'

// biome-ignore lint/style/noProcessEnv: how much is tested is not for the product's settings.
const { CONFORM } = process.env

onBucket(import.meta.path, ({ placeOf: bucketOf }) => {
  const place = bucketOf('conformance')
  const { put, close } = createBlockingPut(place)
  afterAll(close)
  let histories = 0

  function archiveAll({ archive }: MarketHistory): void {
    if (archive.place() === undefined) archive.setPlace(place)
    for (const marketId of archive.due(Number.MAX_SAFE_INTEGER)) {
      for (;;) {
        const packed = archive.pack(marketId, 0)
        if (packed === undefined) break
        expect(put(packed.name, packed.bytes)).toBe(packed.sha256)
        expect(packed.seal()).toBe(true)
      }
    }
  }

  function openArchiving(path: string): MarketHistory {
    const history = openHistory(path)
    let writes = 0
    const archiving =
      <Args extends unknown[], Result>(verb: (...args: Args) => Result) =>
      (...args: Args): Result => {
        const result = verb(...args)
        if (++writes < 4 || writes % 4 === 0) archiveAll(history)
        return result
      }
    return {
      ...history,
      append: archiving(history.append),
      record: archiving(history.record),
      putMarket: archiving(history.putMarket),
      close: archiving(history.close),
      deleteOldest: archiving(history.deleteOldest),
    }
  }

  onEachEngine(({ engine, placeOf }) => {
    if (engine === 'PostgreSQL' && CONFORM !== 'all')
      return void test.skip('the contract of a history with an archive (CONFORM=all runs it)', () => {})
    conform('a history with an archive', () => openArchiving(placeOf(`archived_${++histories}`)), {
      seeds: 1,
      steps: 25,
    })
  })
})
