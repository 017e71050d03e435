import { describe, expect, test } from 'bun:test'

import { LINE_BYTES_MAX } from '#src/domain/wire/snapshot-json.ts'

import { someLines } from '../support/snapshot-lines.ts'
import { createImportHarness } from './import-harness.ts'
import { aToken, conditionId, downId, startMs } from './market-objects.ts'

const { aHistory, pathOf, run, write } = createImportHarness()

const other = { conditionId: `0x${'2b'.repeat(32)}`, assetId: '22', symbol: 'ETH' }

describe('importFiles', () => {
  test('default: keeps every line of every file, in order', async () => {
    const history = aHistory()
    const files = [
      await write('first.jsonl', someLines(4500)),
      await write('second.jsonl', someLines(10, other)),
    ]
    const { report, faults } = await run(files, { history })
    expect(faults).toEqual([])
    expect(report).toMatchObject({
      ending: 'complete',
      files: 2,
      lines: 4510,
      accepted: 4510,
      duplicates: 0,
      invalid: 0,
      batches: 4,
      batchesSkipped: 0,
    })
    expect(history.totals().snapshots).toBe(4510)
    expect(history.findMarket(conditionId)).toMatchObject({
      coin: 'btc',
      source: 'recorded',
      snapshotCounts: { up: 0, down: 4500 },
      firstSnapshotMs: Date.UTC(2026, 3, 14, 8),
    })
  })

  test('behavior: the same content again changes nothing, plain or gzipped', async () => {
    const history = aHistory()
    const text = someLines(2500)
    const plain = await write('same.jsonl', text)
    const gzipped = await write('same.jsonl.gz', Bun.gzipSync(text))
    await run([plain], { history })
    for (const file of [plain, gzipped]) {
      const { report } = await run([file], { history })
      expect(report).toMatchObject({ accepted: 0, duplicates: 0, batchesSkipped: 2 })
      expect(report.linesSkipped).toBe(2500)
    }
    expect(history.totals().snapshots).toBe(2500)
  })

  test('behavior: what overlaps between two files is kept once', async () => {
    const history = aHistory()
    const lines = someLines(300).split('\n')
    const files = [
      await write('left.jsonl', lines.slice(0, 200).join('\n')),
      await write('right.jsonl', lines.slice(100).join('\n')),
    ]
    const { report } = await run(files, { history })
    expect(report).toMatchObject({ lines: 400, accepted: 300, duplicates: 100 })
    expect(history.totals().snapshots).toBe(300)
  })

  test('behavior: goes on where a stopped import ended, without reading a line twice', async () => {
    const history = aHistory()
    const file = await write('stopped.jsonl', someLines(9000))
    const stop = new AbortController()
    const first = await run([file], {
      history,
      signal: stop.signal,
      onProgress: ({ lines }) => {
        if (lines >= 4000) stop.abort()
      },
    })
    expect(first.report).toMatchObject({ ending: 'stopped', files: 0, accepted: 4000 })
    const second = await run([file], { history })
    expect(second.report).toMatchObject({ ending: 'complete', accepted: 5000, linesSkipped: 4000 })
    expect(second.report.duplicates).toBe(0)
    expect(history.totals().snapshots).toBe(9000)
  })

  test('behavior: bad lines are named and left out, blank ones are not bad', async () => {
    const history = aHistory()
    const [a = '', b = '', c = ''] = someLines(3).split('\n')
    const huge = 'x'.repeat(LINE_BYTES_MAX + 1)
    const lines = [a, '', '["nonsense"]', `${b}\r`, huge, '  ', c.replace('"btc"', '"nocoin"'), c]
    const file = await write('bad.jsonl', `\ufeff${lines.join('\n')}`)
    const { report, faults } = await run([file], { history })
    expect(faults).toEqual([
      { file, line: 3, reason: 'not a JSON object' },
      { file, line: 5, reason: `longer than ${LINE_BYTES_MAX} bytes` },
    ])
    expect(report).toMatchObject({ ending: 'complete', lines: 8, accepted: 3, invalid: 2 })
    expect([...report.leftOutReasons]).toEqual([['nocoin is not a supported coin', 1]])
    expect(history.totals().snapshots).toBe(3)
  })

  test('behavior: a line that contradicts its market is found among good ones', async () => {
    const history = aHistory()
    const lines = someLines(100).trimEnd().split('\n')
    for (const index of [37, 38, 99]) {
      lines[index] = lines[index]?.replace('"5m"', '"15m"') ?? ''
    }
    const file = await write('contradiction.jsonl', lines.join('\n'))
    const { report, faults } = await run([file], { history })
    expect(faults.map(({ line }) => line)).toEqual([38, 39, 100])
    expect(faults[0]?.reason).toContain('is known with timeframe 5m, not 15m')
    expect(report).toMatchObject({ accepted: 97, invalid: 3 })
    const again = await run([file], { history })
    expect(again.faults).toEqual(faults)
    expect(again.report).toMatchObject({ accepted: 0, duplicates: 97, invalid: 3 })
    expect(history.totals().snapshots).toBe(97)
  })

  test('behavior: bad lines are named at every import, and refused by a strict one later', async () => {
    const history = aHistory()
    const lines = someLines(10).trimEnd().split('\n')
    lines[5] = '{bad'
    const file = await write('bad-again.jsonl', lines.join('\n'))
    const first = await run([file], { history })
    const again = await run([file], { history })
    expect(again.faults).toEqual(first.faults)
    expect(again.report).toMatchObject({ accepted: 0, duplicates: 9, invalid: 1 })
    const strict = await run([file], { history, isStrict: true })
    expect(strict.report.ending).toBe('refused')
    expect(history.totals().snapshots).toBe(9)
  })

  test('behavior: strict ends at the first bad line and keeps nothing of its batch', async () => {
    const history = aHistory()
    const lines = someLines(5000).split('\n')
    lines[2500] = '["nonsense"]'
    lines[2600] = '["nonsense"]'
    const file = await write('strict.jsonl', lines.join('\n'))
    const { report, faults } = await run([file, file], { history, isStrict: true })
    expect(faults).toEqual([{ file, line: 2501, reason: 'not a JSON object' }])
    expect(report).toMatchObject({ ending: 'refused', files: 0, accepted: 2000, invalid: 1 })
    expect(history.totals().snapshots).toBe(2000)
  })

  test('behavior: strict keeps nothing of a batch in which a line contradicts its market', async () => {
    const history = aHistory()
    const lines = someLines(10).trimEnd().split('\n')
    lines[4] = lines[4]?.replace('"btc"', '"eth"') ?? ''
    const file = await write('strict-contradiction.jsonl', lines.join('\n'))
    const { report, faults } = await run([file], { history, isStrict: true })
    expect(faults[0]?.reason).toStartWith('this line or one of the 9 after it: ')
    expect(report.ending).toBe('refused')
    expect(history.totals().snapshots).toBe(0)
  })

  test('behavior: a file that cannot be read is named, the others are imported', async () => {
    const history = aHistory()
    const file = await write('good.jsonl', someLines(5))
    const absent = pathOf('absent.jsonl')
    const { report, faults } = await run([absent, file], { history })
    expect(faults).toEqual([{ file: absent, reason: 'no such file' }])
    expect(report).toMatchObject({ ending: 'complete', files: 1, filesFailed: 1, accepted: 5 })
    expect(history.totals().snapshots).toBe(5)
  })

  test('behavior: closes markets whose window is over, also after an interruption', async () => {
    const history = aHistory()
    const file = await write('ended.jsonl', someLines(2100) + someLines(3, other))
    const stop = new AbortController()
    await run([file], { history, signal: stop.signal, onProgress: () => stop.abort() })
    expect(history.findMarket(conditionId)?.isClosed).toBe(false)
    await run([file], { history, clock: () => Date.UTC(2026, 3, 14, 8, 5, 2) })
    expect(history.findMarket(conditionId)?.isClosed).toBe(false)
    expect(history.findMarket(other.conditionId)?.isClosed).toBe(false)
    await run([file], { history, clock: () => Date.UTC(2026, 3, 14, 8, 5, 2, 1) })
    expect(history.findMarket(conditionId)?.isClosed).toBe(false)
    expect(history.findMarket(other.conditionId)?.isClosed).toBe(true)
    await run([file], { history })
    expect(history.findMarket(conditionId)?.isClosed).toBe(true)
  })

  test('behavior: a known window tells when a market is over, however late its snapshots are', async () => {
    const history = aHistory()
    const books = await write('windowed.jsonl', someLines(200, { assetId: downId }))
    const facts = await write('windowed.json', JSON.stringify([aToken()]))
    const endMs = startMs + 300_000
    await run([facts], { history, clock: () => endMs + 1 })
    expect(history.findMarket(conditionId)?.isClosed).toBe(false)
    await run([books], { history, clock: () => endMs })
    expect(history.findMarket(conditionId)?.isClosed).toBe(false)
    await run([books], { history, clock: () => endMs + 1 })
    expect(history.findMarket(conditionId)?.isClosed).toBe(true)
  })

  test('behavior: closes ended markets beyond the first page of the list', async () => {
    const history = aHistory()
    const lines = Array.from({ length: 1001 }, (_, index) =>
      someLines(1, { conditionId: `0x${String(index).padStart(64, '0')}`, assetId: `${index}` }),
    )
    await run([await write('many.jsonl', lines.join(''))], { history })
    const markets = history.listMarkets({ coin: 'btc', limit: 2000 })
    expect(markets.filter(({ isClosed }) => isClosed)).toHaveLength(1001)
  })

  test('error: a fault of the history ends the import', async () => {
    const history = aHistory()
    const append = (): never => {
      throw new Error('disk full')
    }
    const file = await write('full.jsonl', someLines(5000))
    await expect(run([file], { history: { ...history, append } })).rejects.toThrow('disk full')
  })
})
