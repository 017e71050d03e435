import { describe, expect, test } from 'bun:test'

import type { HistoryStore } from '#src/store/history.ts'

import { someLines } from '../support/snapshot-lines.ts'
import { aHashedLine, hashGap, someHashedLines } from './hashed-lines.ts'
import { createImportHarness } from './import-harness.ts'
import { aToken, conditionId } from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

function gapsIn(history: HistoryStore) {
  const market = history.findMarket(conditionId)
  if (market === undefined) throw new Error('The market is not there.')
  return history.gaps(market)
}

describe('importFiles and the venue’s hashes', () => {
  test('default: counts books that reproduce their hash, in the market too', async () => {
    const history = aHistory()
    const file = await write('sound.jsonl', someHashedLines(50))
    const { report } = await run([file], { history })
    expect(report.hashes).toEqual({ verified: 50, mismatched: 0, unchecked: 0 })
    expect(history.findMarket(conditionId)?.verifiedCounts).toEqual({ up: 0, down: 50 })
    expect(gapsIn(history)).toEqual([])
  })

  test('behavior: books without a hash are simply not verified', async () => {
    const history = aHistory()
    const { report } = await run([await write('bare.jsonl', someLines(20))], { history })
    expect(report.hashes).toEqual({ verified: 0, mismatched: 0, unchecked: 0 })
    expect(history.findMarket(conditionId)?.verifiedCounts).toEqual({ up: 0, down: 0 })
  })

  test('behavior: a contradiction between sound books is a gap up to the next sound one', async () => {
    const history = aHistory()
    const file = await write('unsound.jsonl', someHashedLines(20, [5, 10, 11, 12]))
    const { report } = await run([file], { history })
    expect(report.hashes).toEqual({ verified: 16, mismatched: 4, unchecked: 0 })
    expect(report).toMatchObject({ accepted: 20, hashGaps: 2 })
    expect(gapsIn(history)).toEqual([hashGap(5, 6), hashGap(10, 13)])
  })

  test('behavior: what is not between sound books is no gap', async () => {
    const history = aHistory()
    const file = await write('edges.jsonl', someHashedLines(10, [0, 1, 8, 9]))
    const { report } = await run([file], { history })
    expect(report.hashes).toEqual({ verified: 6, mismatched: 4, unchecked: 0 })
    expect(gapsIn(history)).toEqual([])
  })

  test('behavior: a late line opens and closes nothing', async () => {
    const history = aHistory()
    const lines = [
      aHashedLine(10),
      aHashedLine(8, { isSound: false }),
      aHashedLine(11),
      aHashedLine(12, { isSound: false }),
      aHashedLine(9),
      aHashedLine(14),
    ]
    await run([await write('late.jsonl', lines.join(''))], { history })
    expect(gapsIn(history)).toEqual([hashGap(12, 14)])
  })

  test('behavior: books that contradict their market leave no gap', async () => {
    const history = aHistory()
    const facts = await write('other-asset.json', JSON.stringify([aToken()]))
    const books = await write('refused.jsonl', someHashedLines(9, [5]))
    const { report } = await run([facts, books], { history })
    expect(report).toMatchObject({ accepted: 0, invalid: 9, hashGaps: 0 })
    expect(gapsIn(history)).toEqual([])
  })

  test('behavior: the same content again changes nothing', async () => {
    const history = aHistory()
    const file = await write('again.jsonl', someHashedLines(20, [5]))
    await run([file], { history })
    const before = history.findMarket(conditionId)
    const { report } = await run([file], { history })
    expect(report).toMatchObject({ batchesSkipped: 1, accepted: 0, duplicates: 0, hashGaps: 0 })
    expect(history.findMarket(conditionId)).toEqual(before)
    expect(gapsIn(history)).toEqual([hashGap(5, 6)])
  })

  test('behavior: a gap over the end of a batch is found, also after an interruption', async () => {
    const history = aHistory()
    const file = await write('over.jsonl', someHashedLines(2100, [1998, 1999, 2000]))
    const stop = new AbortController()
    const first = await run([file], {
      history,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    })
    expect(first.report).toMatchObject({ ending: 'stopped', accepted: 2000 })
    expect(gapsIn(history)).toEqual([])
    await run([file], { history })
    expect(gapsIn(history)).toEqual([hashGap(1998, 2001)])
  })

  test('behavior: an import killed between books and gaps finds the gaps the next time', async () => {
    const history = aHistory()
    const file = await write('killed.jsonl', someHashedLines(20, [5]))
    const putGaps = (): never => {
      throw new Error('killed')
    }
    await expect(run([file], { history: { ...history, putGaps } })).rejects.toThrow('killed')
    const { report } = await run([file], { history })
    expect(report).toMatchObject({ accepted: 0, duplicates: 20, hashGaps: 1 })
    expect(gapsIn(history)).toEqual([hashGap(5, 6)])
    expect(history.totals().snapshots).toBe(20)
  })
})
