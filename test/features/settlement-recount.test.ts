/**
 * Winners of recorded windows, recomputed by a program that shares no code with the server
 * (`settlement_recount.py`): ten days of them, and all with `CONFORM=all`. Skipped where recordings or
 * python3 are absent.
 */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { SpotTick } from '#src/domain/spot.ts'
import type { SettlementList } from '#src/features/settlement/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { conditionIdOf } from '../history/books.ts'
import { createImportHarness } from '../ingest/import-harness.ts'
import { createHarness } from '../support/harness.ts'
import { withParams } from '../support/page-client.ts'
import { hasPython, runPython } from '../support/python.ts'

// biome-ignore lint/style/noProcessEnv: how much is tested is not for the product's settings.
const isWhole = process.env.CONFORM === 'all'
const DAYS = 10
const WINDOWS_A_DAY = 288
const expected = isWhole
  ? { agrees: 20_199, disagrees: 719, unknown: 10, ties: 106 }
  : { agrees: 2758, disagrees: 121, unknown: 1, ties: 2 }
const program = join(import.meta.dir, 'settlement_recount.py')
const recorded = '../shared/data/polymarket/outcomes-btc-5m-20251218-20260317.csv.gz'
const isAbsent = !existsSync(recorded)
const skipped = isAbsent ? ' (skipped: ../shared/data is not here)' : ''
const reason = hasPython ? skipped : ' (skipped: python3 is not here)'

const { run, writeStart } = createImportHarness()

describe('GET /v1/{coin}/settlements', () => {
  test.skipIf(isAbsent || !hasPython)(
    `behavior: another program finds the same winner of ${isWhole ? 'every recorded window' : 'each window of ten days'}${reason}`,
    async () => {
      const table = isWhole ? recorded : await writeStart(recorded, 1 + DAYS * WINDOWS_A_DAY)
      const history = openHistory(':memory:')
      const known = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
      const ticks: SpotTick[] = []
      for (const line of (await runPython(program, ['list', table])).trim().split('\n')) {
        const [start = '', price] = line.split(' ')
        const windowStartMs = Number(start) * 1000
        await history.putMarket({
          ...known,
          conditionId: conditionIdOf(Number(start)),
          windowStartMs,
          windowEndMs: windowStartMs + 300_000,
          settlementRule: 'spot',
        })
        if (!price) continue
        const series = { coin: 'btc', source: 'chainlink', windowSeconds: 0 } as const
        ticks.push({ ...series, timestampMs: windowStartMs, receivedMs: windowStartMs + 80, price })
      }
      await history.putSpot(ticks)
      // The winners.
      const { faults } = await run([table], { history })
      expect(faults).toEqual([])
      // All windows of the table are over by then.
      const { send } = createHarness({ history, clock: () => Date.UTC(2026, 3, 15) })
      const lines: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const more = cursor === undefined ? {} : { cursor }
        const path = withParams('/v1/btc/settlements', { limit: 1000, order: 'asc', ...more })
        const { data, nextCursor } = (await (await send(path)).json()) as SettlementList
        lines.push(...data.map((row) => JSON.stringify(row)))
        cursor = nextCursor
      }
      const counted: unknown = JSON.parse(
        await runPython(program, ['compare', table], lines.join('\n')),
      )
      expect(counted).toEqual({
        counts: expected,
        missing: 0,
        differences: [],
      })
    },
    300_000,
  )
})
