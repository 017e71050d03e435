import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import type { Coin } from '#src/domain/market.ts'
import { defaultPacks } from '#src/domain/selling/tier.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { closeEndedMarkets } from '#src/ingest/importer.ts'
import { type Banner, bannerLines } from '#src/server/greeting.ts'

import { appendAll, aSnapshot } from '../history/books.ts'
import { createCommandLine } from '../support/command-line.ts'
import { fakeHistory } from '../support/fake-history.ts'
import { createMarketHistory } from '../support/market-history.ts'

const KEY = `bf_live_${'a'.repeat(33)}`

const greeting = (changes: Partial<Banner> = {}): string[] =>
  bannerLines({
    url: new URL('http://127.0.0.1:1'),
    history: fakeHistory(),
    localKey: undefined,
    makeKey: 'bun src/main.ts keys create --tier enterprise',
    invocation: 'bun src/main.ts',
    signup: { isOpen: true },
    payments: 'Payments: none.',
    packs: [],
    isSample: false,
    ...changes,
  })

test('behavior: says how to buy without a key where that is sold', () => {
  expect(greeting().join('\n')).not.toContain('without a key')
  const lines = greeting({ packs: defaultPacks })
  const from = lines.indexOf('Purchases without a key, by any x402 client:')
  expect(lines.slice(from, from + 4)).toEqual([
    'Purchases without a key, by any x402 client:',
    '  GET http://127.0.0.1:1/v1/btc/markets pays for one request',
    '  POST http://127.0.0.1:1/v1/billing/packs/pack-1000 returns a key for 1,000 requests',
    '  GET http://127.0.0.1:1/.well-known/x402 lists all that is sold',
  ])
})

const START_MS = Date.UTC(2026, 0, 1)

/** Puts markets of consecutive windows as a list names them: without any snapshot. */
async function list(history: MarketHistory, coin: Coin, count: number) {
  for (let index = 0; index < count; index++) {
    const windowStartMs = START_MS + (index - 5) * 300_000
    await history.putMarket({
      conditionId: `0x${String(index).padStart(64, '0')}`,
      coin,
      timeframe: '5m',
      source: 'recorded',
      windowStartMs,
      windowEndMs: windowStartMs + 300_000,
    })
  }
}

describe('greet', () => {
  test('behavior: shows a market that has snapshots, however many newer ones have none', async () => {
    const { history, both } = await createMarketHistory()
    await list(history, 'btc', 1200)
    const pages = greeting({ history }).filter((line) => line.includes('/snapshots?limit='))
    expect(pages).toHaveLength(2)
    for (const page of pages) expect(page).toContain(`/${both.coin}/markets/${both.conditionId}/`)
  })

  test('behavior: with markets and no snapshot, it shows the markets and says what is missing', async () => {
    const history = openHistory(':memory:')
    await list(history, 'eth', 3)
    const lines = greeting({ history })
    expect(lines.join('\n')).not.toContain('/snapshots?')
    expect(lines.join('\n')).toContain("/v1/eth/markets'")
    expect(lines.at(-1)).toBe('The history has no snapshots. See: bun src/main.ts import --help')
  })

  test.each([
    ['a market', "UPDATE market SET strike = '7'", 0],
    ['a total', 'UPDATE coin_total SET snapshots = snapshots + 1', 1],
  ])('behavior: %s that is damaged stops no start and no import', async (_, change, closed) => {
    using line = createCommandLine()
    const path = join(line.folder, 'damaged.db')
    const history = openHistory(path)
    await appendAll(history, [aSnapshot()])
    history.dispose()
    const db = openDatabase(path)
    db.run('DROP TRIGGER coin_total_seal_update')
    expect(db.run(change).changes).toBeGreaterThan(0)
    db.close()
    const damaged = openHistory(path)
    const lines = greeting({ history: damaged })
    await closeEndedMarkets(damaged, Date.UTC(2026, 10, 1))
    expect([...damaged.listUnclosed()]).toHaveLength(1 - closed)
    damaged.dispose()
    expect(lines.at(-1)).toBe('Part of the history is damaged. See: bun src/main.ts verify')
  })

  test('default: with a key of this start, the commands carry it', () => {
    const lines = greeting({ localKey: KEY })
    const commands = lines.filter((line) => line.startsWith('  curl '))
    expect(commands[0]).toStartWith(`  curl -H 'Authorization: Bearer ${KEY}' 'http`)
    expect(lines.slice(-2)).toEqual([expect.stringContaining('at this start only'), `  ${KEY}`])
    expect(lines.join('\n')).not.toContain('keys create')
  })

  test('behavior: without one, they take $KEY and say how to make another', () => {
    const lines = greeting()
    expect(lines).toContain('  KEY=$(bun src/main.ts keys create --tier enterprise)')
    const commands = lines.filter((line) => line.startsWith('  curl '))
    expect(commands[0]).toStartWith('  curl -H "Authorization: Bearer $KEY" \'http')
    expect(lines.join('\n')).not.toContain('bf_live_')
    // A variable of that beginning would be refused by the configuration.
    expect(lines.join('\n')).not.toContain('$BOOKFEED_')
  })

  test('behavior: one line on signup, with the reason if it is closed', () => {
    expect(greeting()).toContain('Signup is open.')
    const closed = greeting({ signup: { isOpen: false, reason: 'because.' } })
    expect(closed.filter((line) => line.startsWith('Signup'))).toEqual([
      'Signup is closed: because.',
    ])
  })

  test('behavior: one line on payments', () => {
    expect(greeting().filter((line) => line.startsWith('Payments'))).toEqual(['Payments: none.'])
  })

  test('behavior: a server on every interface is named so that it can be reached', () => {
    expect(greeting({ url: new URL('http://0.0.0.0:80') })[0]).toBe(
      'bookfeed listens on http://localhost',
    )
  })
})
