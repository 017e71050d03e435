import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import fc from 'fast-check'

import { coverageOf } from '#src/domain/coverage.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { someLines } from '../support/snapshot-lines.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { aHashedLine, hashGap, someHashedLines } from './hashed-lines.ts'
import { createImportHarness, NOW_MS } from './import-harness.ts'
import { aToken, conditionId } from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()
const recording = '../shared/data/polymarket/snapshots-btc-5m-1hz-20260413-14.jsonl.gz'
const isAbsent = !existsSync(recording)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''

function marketIn(history: MarketHistory, id = conditionId) {
  const market = history.findMarket(id)
  if (market === undefined) throw new Error('The market is not there.')
  return market
}

const gapsIn = (history: MarketHistory, id?: string) =>
  history.gaps(marketIn(history, id)).filter((gap) => gap.reason === 'hash_mismatch')

/** What readers see: rows without ids, their verdicts, gaps, counts and best levels. */
function everythingIn(history: MarketHistory, id?: string) {
  const market = marketIn(history, id)
  const { spans, snapshotCounts, verifiedCounts, longestSilenceMs } = market
  const rows = [...snapshotRuns(history, { market })].flat().map(({ id: _, ...row }) => row)
  const tops = history.tops({ market, order: 'asc', limit: 10_000 })
  return {
    rows,
    gaps: history.gaps(market),
    tops: tops.map(({ id: _, ...top }) => top),
    spans,
    snapshotCounts,
    verifiedCounts,
    longestSilenceMs,
  }
}

let files = 0
async function importText(history: MarketHistory, text: string) {
  const { report } = await run([await write(`books-${++files}.jsonl`, text)], { history })
  return report
}

/** The end of an endless gap, as coverage gives it. */
const endOf = (gap: { fromMs: number }) => expect.objectContaining({ fromMs: gap.fromMs })

describe('importFiles and the venue’s hashes', () => {
  test('default: counts what is held, verified and not', async () => {
    const history = aHistory()
    const report = await importText(history, someHashedLines(50))
    expect(report.hashes).toEqual({ held: 50, verified: 50, gaps: 0, mismatched: 0, unknown: 0 })
    expect(marketIn(history).verifiedCounts).toEqual({ up: 0, down: 50 })
    expect(gapsIn(history)).toEqual([])
  })

  test('behavior: books without a hash are simply not verified', async () => {
    const history = aHistory()
    const report = await importText(history, someLines(20))
    expect(report.hashes).toEqual({ held: 20, verified: 0, gaps: 0, mismatched: 0, unknown: 0 })
  })

  test('behavior: every contradiction is a gap up to the next verified book', async () => {
    const history = aHistory()
    const report = await importText(history, someHashedLines(20, [0, 5, 10, 11, 12]))
    expect(report.hashes).toEqual({ held: 20, verified: 15, gaps: 3, mismatched: 5, unknown: 0 })
    expect(gapsIn(history)).toEqual([hashGap(0, 1), hashGap(5, 6), hashGap(10, 13)])
    expect([...history.verify()]).toEqual([])
  })

  test('behavior: the last book’s contradiction reaches to the end of what is covered', async () => {
    const history = aHistory()
    await importText(history, someHashedLines(10, [8, 9]))
    expect(gapsIn(history)).toEqual([endOf(hashGap(8, 10))])
    const market = marketIn(history)
    const question = { market, gaps: history.gaps(market), nowMs: NOW_MS, outcome: 'down' } as const
    const [coverage] = coverageOf(question)
    expect(coverage?.gaps.at(-1)).toEqual({ ...hashGap(8, 9), toMs: hashGap(9, 9).toMs + 1 })
    await importText(history, aHashedLine(12))
    expect(gapsIn(history)).toEqual([hashGap(8, 12)])
  })

  test('behavior: a wrong book is one whatever line it comes in, and late books end its gap', async () => {
    const history = aHistory()
    await importText(history, aHashedLine(8, { isSound: false }))
    await importText(history, aHashedLine(14))
    expect(gapsIn(history)).toEqual([hashGap(8, 14)])
    await importText(history, aHashedLine(9) + aHashedLine(6))
    expect(gapsIn(history)).toEqual([hashGap(8, 9)])
    expect([...history.verify()]).toEqual([])
  })

  test('behavior: hashes of an unknown recipe are counted, and no gap', async () => {
    const history = aHistory()
    const lines = Array.from({ length: 300 }, (_, at) => aHashedLine(at, { isUnknown: true }))
    const report = await importText(history, lines.join(''))
    expect(report.hashes).toEqual({ held: 300, verified: 0, gaps: 0, mismatched: 0, unknown: 300 })
    expect(gapsIn(history)).toEqual([])
    expect([...history.verify()]).toEqual([])
  })

  test('behavior: what was unknown is judged when a book of its market is verified', async () => {
    // A price that no book names, after searches that found nothing.
    const rare = { lastTradePrice: '0.120' }
    const unknown = [
      ...[0, 1, 2].map((second) => aHashedLine(second, { isSound: false })),
      ...[3, 4, 5].map((second) => aHashedLine(second, rare)),
    ]
    const proof = aHashedLine(6)
    const orders = [
      [unknown.join(''), proof],
      [proof, unknown.join('')],
      [...unknown, proof],
    ]
    const ends = []
    for (const texts of orders) {
      const history = aHistory()
      for (const text of texts) await importText(history, text)
      expect(marketIn(history).verifiedCounts.down).toBe(4)
      expect(gapsIn(history)).toEqual([hashGap(0, 3)])
      expect([...history.verify()]).toEqual([])
      ends.push(everythingIn(history))
    }
    expect(ends[1]).toEqual(ends[0])
    expect(ends[2]).toEqual(ends[0])
  })

  test('behavior: a market that another import proved has false books', async () => {
    const history = aHistory()
    await importText(history, aHashedLine(0))
    const report = await importText(history, someHashedLines(4, [1, 2, 3]))
    expect(report.hashes).toMatchObject({ mismatched: 3, unknown: 0 })
    expect(gapsIn(history)).toEqual([endOf(hashGap(1, 4))])
  })

  test('behavior: a refused book leaves no gap', async () => {
    const history = aHistory()
    const facts = await write('other-asset.json', JSON.stringify([aToken()]))
    const books = await write('refused.jsonl', someHashedLines(9, [5]))
    const { report } = await run([facts, books], { history })
    expect(report).toMatchObject({ accepted: 0, invalid: 9 })
    expect(gapsIn(history)).toEqual([])
  })

  test('behavior: many wrong books change no verdict of a sound one', async () => {
    const history = aHistory()
    const wrong = Array.from({ length: 600 }, (_, second) => second)
    const report = await importText(history, someHashedLines(620, wrong))
    expect(report.hashes).toMatchObject({ held: 620, verified: 20, mismatched: 600 })
  }, 300_000)

  test.skipIf(isAbsent)(
    `behavior: true rows replace rows whose best bid size was changed${reason}`,
    async () => {
      const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(recording).bytes()))
      const lines = text.split('\n').slice(0, 300)
      const id: string = JSON.parse(lines[0] ?? '').conditionId
      const own = lines.filter((line) => line.includes(id))
      const wrong = own.slice(0, 10).map((line) => {
        const row = JSON.parse(line)
        const best = row.bids.at(-1)
        return JSON.stringify({
          ...row,
          bids: [...row.bids.slice(0, -1), { ...best, size: `${Number(best.size) + 1}` }],
        })
      })
      const history = aHistory()
      const { hashes } = await importText(history, `${wrong.join('\n')}\n`)
      // No book of the market fitted so far, so nothing is said of these.
      expect([hashes.unknown, gapsIn(history, id)]).toEqual([10, []])
      const report = await importText(history, `${own.join('\n')}\n`)
      expect(report).toMatchObject({ accepted: own.length, duplicates: 0 })
      expect(gapsIn(history, id)).toEqual([])
      const plain = aHistory()
      await importText(plain, `${own.join('\n')}\n`)
      expect(everythingIn(history, id)).toEqual(everythingIn(plain, id))
      await importText(history, `${wrong.join('\n')}\n${own[0]}\n`)
      expect(everythingIn(history, id)).toEqual(everythingIn(plain, id))
      expect([...history.verify()]).toEqual([])
    },
    300_000,
  )
})

/**
 * Lines of one asset and second: sound, wrong, without a hash, another book, or one that returns.
 */
function unitOf(second: number, kinds: readonly number[]): string {
  const sound = aHashedLine(second)
  const bare = `${JSON.stringify({ ...JSON.parse(sound), id: 'none' })}\n`
  const other = bare.replace(`"size":"${second + 1}"`, '"size":"77"')
  const wrong = sound.replace(`"size":"${second + 1}"`, '"size":"78"')
  const own = [sound, aHashedLine(second, { isSound: false }), bare, other, wrong]
  const lines = kinds.map((kind) => own[kind] ?? sound)
  return lines.join('')
}

describe('importFiles of the states of a millisecond', () => {
  test('behavior: keep the order of their lines, returns included, whatever was there before', async () => {
    const text = unitOf(3, [2, 3, 2])
    for (const before of ['', unitOf(3, [3]), unitOf(3, [2]), unitOf(3, [3, 2])]) {
      const history = aHistory()
      if (before !== '') await importText(history, before)
      await importText(history, text)
      const { rows } = everythingIn(history)
      const sizes = rows.map(({ bids }) => (bids.sizes[0] ?? 0) / 1_000_000)
      expect(sizes.at(-1)).toBe(4)
      expect(sizes).toEqual([4, 77, 4])
      const first = everythingIn(history)
      await importText(history, `${text}\n`)
      expect(everythingIn(history)).toEqual(first)
    }
  })

  test('behavior: a batch that continues a run keeps the order of the file', async () => {
    const history = aHistory()
    const whole = aHistory()
    const head = someHashedLines(1999)
    await importText(history, head + unitOf(1999, [3, 2, 3]))
    await importText(whole, unitOf(1999, [3, 2, 3]))
    const rows = everythingIn(history).rows.slice(1999)
    expect(rows).toEqual(everythingIn(whole).rows)
    expect(rows).toHaveLength(3)
  }, 300_000)

  test('behavior: any split, order and repetition of the same lines gives the same answers', async () => {
    const unit = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 4 })
    const property = fc.asyncProperty(
      fc.array(unit, { minLength: 1, maxLength: 6 }),
      fc.array(fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1 }), {
        minLength: 1,
        maxLength: 4,
      }),
      async (units, parts) => {
        const texts = units.map((kinds, second) => unitOf(second, kinds))
        const plain = aHistory()
        const other = aHistory()
        await importText(plain, texts.join(''))
        const everyOne = [...texts.keys()].reverse()
        for (const part of [...parts, everyOne]) {
          const text = part.map((at) => texts[at % texts.length] ?? '')
          // Apart, so that lines of one second in two units are not one run.
          for (const each of text) await importText(other, each)
        }
        expect(everythingIn(other)).toEqual(everythingIn(plain))
        expect([...other.verify()]).toEqual([])
      },
    )
    await fc.assert(property, { numRuns: 25 })
  }, 300_000)
})
