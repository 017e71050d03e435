import { describe, expect, test } from 'bun:test'

import { someLines } from '../support/snapshot-lines.ts'
import { createImportHarness } from './import-harness.ts'
import {
  aGammaMarket,
  aToken,
  aTrade,
  conditionId,
  downId,
  resolved,
  startMs,
  upId,
} from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

const other = { conditionId: `0x${'2b'.repeat(32)}` }
const header = 'timestamp,outcome,btc_open,btc_close'
const startSeconds = startMs / 1000

describe('importFiles of faulty facts', () => {
  test('behavior: bad entries are named by their place, the others are kept', async () => {
    const history = aHistory()
    const entries = [aToken({ assetId: 'x' }), aToken(), 17, { bids: [] }, aToken({ slug: null })]
    const file = await write('entries.json', JSON.stringify(entries))
    const first = await run([file], { history })
    expect(first.faults.map(({ entry, reason }) => `${entry}: ${reason}`)).toEqual([
      '1: assetId: not 1 to 78 digits',
      '3: not a JSON object',
      expect.stringContaining('4: is none of: a snapshot (bids, asks); '),
      '5: slug: missing',
    ])
    expect(first.report).toMatchObject({ entries: 5, invalid: 4, facts: { accepted: 1 } })
    const again = await run([file], { history })
    expect(again.faults).toEqual(first.faults)
    expect(again.report.facts).toEqual({ accepted: 0, duplicates: 1 })
  })

  test.each([
    ['[{"a":1},', 2],
    ['[{"a":1},]', 2],
    ['[{"a":1} {"a":2}]', 2],
    ['[nonsense]', 1],
    ['[', 1],
    ['[{"a":"\xff"}]', 1],
  ])('error: what is no JSON ends the document: %j', async (text, last) => {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
    const { faults } = await run([await write(`no-${Bun.hash(text)}.json`, bytes)])
    expect(faults.at(-1)).toMatchObject({ entry: last })
    expect(faults.at(-1)?.reason).toStartWith('not valid JSON in UTF-8')
  })

  test('error: strict keeps nothing of a document with a bad entry, and reads nothing after it', async () => {
    const history = aHistory()
    const document = await write('strict.json', JSON.stringify([aToken(), aToken({ outcome: '' })]))
    const good = await write('strict-good.json', JSON.stringify([aToken()]))
    const { report, faults } = await run([document, good], { history, isStrict: true })
    expect(faults).toEqual([{ file: document, entry: 2, reason: 'outcome: missing' }])
    expect(report).toMatchObject({ ending: 'refused', files: 0 })
    expect(history.totals().markets).toBe(0)
  })

  test('behavior: bad lines among trades are named by line', async () => {
    const lines = [aTrade(), aTrade({ lastTradePrice: '2' }), ['x'], aTrade({ conditionId: '' })]
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const { report, faults } = await run([await write('bad-trades.jsonl', text)])
    expect(faults.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '2: lastTradePrice: not a decimal between 0 and 1 with at most six digits',
      '3: not a JSON object',
      '4: conditionId: missing',
    ])
    expect(report.lastPrices).toEqual({ accepted: 1, duplicates: 0 })
  })

  test('behavior: what contradicts its market is refused, with every trade of it', async () => {
    const history = aHistory()
    await run([await write('books.jsonl', someLines(2, { assetId: downId }))], { history })
    const ethereum = { slug: `eth-updown-5m-${startSeconds}` }
    const lines = [aTrade(ethereum), aTrade(ethereum), aToken({ assetId: '7' }), aTrade(other)]
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const { report, faults } = await run([await write('contra.jsonl', text)], { history })
    expect(faults.map(({ line }) => line)).toEqual([3, 1, 2])
    expect(faults[1]?.reason).toContain('is known with coin btc, not eth')
    expect(report).toMatchObject({ invalid: 3, lastPrices: { accepted: 1, duplicates: 0 } })
    const market = history.findMarket(conditionId)
    expect(market && history.trades({ market })).toEqual([])
  })

  test('behavior: rows of outcomes are checked one by one', async () => {
    const history = aHistory()
    const rows = [
      header,
      `${startSeconds},up,1,2,3`,
      `x,up,1,2`,
      `${startSeconds},both,1,2`,
      `${startSeconds},up,72815;2,`,
      '',
      `${startSeconds},up,,2.50\r`,
      `${startSeconds},down,1,2`,
    ]
    const tokens = await write('for-rows.json', JSON.stringify([aToken()]))
    const table = await write('rows.csv', rows.join('\n'))
    const { faults, report } = await run([table, tokens], { history })
    expect(faults.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '2: 5 columns where the first line has 4',
      '3: timestamp: not an ISO date-time in UTC, nor Unix milliseconds or seconds',
      '4: outcome: neither "up" nor "down"',
      '5: btc_open: not a plain decimal such as 72815.25; only this was left out',
      `8: Market ${conditionId} is known to be won by up (dataset), not down (dataset).`,
    ])
    expect(report).toMatchObject({ invalid: 4, factsLeftOut: 1, waiting: { accepted: 0 } })
    expect(history.findMarket(conditionId)).toMatchObject({ winner: 'up', finalPrice: '2.50' })
    expect(history.findMarket(conditionId)?.strike).toBeUndefined()
  })

  test('behavior: another winner than the known one is refused by its place in every kind of file', async () => {
    const history = aHistory()
    const up = { ...resolved, outcomePrices: '["1","0"]' }
    const down = { ...resolved, outcomePrices: '["0","1"]' }
    const tokens = [
      aToken({ winner: 'up' }),
      aToken({ winner: 'down', assetId: upId, outcome: 'up' }),
    ]
    const tokensFile = await write('winners.json', JSON.stringify(tokens))
    const tokenLines = await write('winners.jsonl', `{}\n${JSON.stringify(tokens[1])}\n`)
    const table = await write('winners.csv', `${header}\n${startSeconds},down,1,2\n`)
    const downByVenue = await write('venue-down.json', JSON.stringify([aGammaMarket(down)]))
    const upByVenue = await write('venue-up.json', JSON.stringify([aGammaMarket(up)]))
    const known = () => {
      const { winner, winnerSource, strike, assetIds } = history.findMarket(conditionId) ?? {}
      return [winner, winnerSource, strike, assetIds?.up]
    }
    const places = async (file: string) => {
      const { faults, report } = await run([file], { history })
      expect(report.invalid).toBe(faults.length)
      return faults
        .filter(({ reason }) => reason.includes('is known to be won by'))
        .map(({ file: named, line, entry }) => [named === file, line ?? 0, entry ?? 0])
    }
    expect(await places(tokensFile)).toEqual([[true, 0, 2]])
    expect(await places(tokenLines)).toEqual([[true, 2, 0]])
    expect(await places(table)).toEqual([[true, 2, 0]])
    // Nothing else of what was refused is kept.
    expect(known()).toEqual(['up', 'dataset', undefined, undefined])
    expect(await places(downByVenue)).toEqual([])
    // Of the table, what is said of this winner counts now.
    expect(known()).toEqual(['down', 'venue', '1', upId])
    expect(await places(upByVenue)).toEqual([[true, 0, 1]])
    expect(await places(tokensFile)).toEqual([[true, 0, 1]])
    expect(known()).toEqual(['down', 'venue', '1', upId])
  })

  test('error: strict ends at a bad row', async () => {
    const rows = `${header}\nx,up,1,2\nx,up,1,2\n`
    const { faults, report } = await run([await write('bad.csv', rows)], { isStrict: true })
    expect(faults).toHaveLength(1)
    expect(report).toMatchObject({ ending: 'refused', files: 0 })
  })

  test('error: a document too large to be read whole is refused, whatever its size on disk', async () => {
    const history = aHistory()
    const blank = new Uint8Array(67_108_864).fill(0x20)
    const text = Buffer.concat([Buffer.from(`[${JSON.stringify(aGammaMarket())}`), blank])
    const file = await write('large.json.gz', Bun.gzipSync(text))
    const { faults, report } = await run([file], { history })
    expect(report).toMatchObject({ filesFailed: 1, files: 0 })
    expect(faults[0]?.reason).toStartWith('a JSON document of more than 67108864 bytes')
    expect(history.totals().markets).toBe(0)
  })

  test('error: a document that ends too early is a failure of the file, of which nothing is kept', async () => {
    const history = aHistory()
    const whole = Bun.gzipSync(JSON.stringify(Array.from({ length: 500 }, () => aToken())))
    const file = await write('early-end.json.gz', whole.subarray(0, whole.length - 20))
    const { faults, report } = await run([file], { history })
    expect(report.filesFailed).toBe(1)
    expect(faults[0]?.reason).toStartWith('the gzip data ends too early')
    expect(history.totals().markets).toBe(0)
  })

  test('behavior: a signal ends a document in order, and the next run goes on', async () => {
    const history = aHistory()
    const entries = Array.from({ length: 1200 }, (_, number) =>
      aTrade({ conditionId: `0x${String(number).padStart(64, '0')}` }),
    )
    const file = await write('stopped.json', JSON.stringify(entries))
    const stop = new AbortController()
    const first = await run([file], {
      history,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    })
    expect(first.report).toMatchObject({ ending: 'stopped', lastPrices: { accepted: 500 } })
    const second = await run([file], { history })
    expect(second.report).toMatchObject({ ending: 'complete' })
    expect(second.report.lastPrices).toEqual({ accepted: 700, duplicates: 500 })
  })
})
