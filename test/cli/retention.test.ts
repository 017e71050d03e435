import { describe, expect, test } from 'bun:test'

import { deleteStep } from '#src/cli/retention.ts'
import { DAY_MS } from '#src/core/time.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, conditionIdOf } from '../history/books.ts'
import { createCliContext } from '../support/cli-context.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'

/** A closed market a day before now, the first yesterday. */
function aHistory(days: number) {
  const history = openHistory(':memory:')
  for (let day = days; day > 0; day--) {
    const windowStartMs = NOW_MS - day * DAY_MS
    const about = { conditionId: conditionIdOf(day), coin: 'btc', timeframe: '5m' } as const
    history.putMarket({ ...about, source: 'simulated', windowStartMs })
    appendAll(history, [aSnapshot({ ...about, assetId: `${day}`, timestampMs: windowStartMs + 1 })])
    history.close(about.conditionId)
  }
  return history
}

const contextOf = (env: Record<string, string>) => createCliContext(env).context
const heldOf = (history: ReturnType<typeof aHistory>): number => history.totals().markets

describe('deleteStep', () => {
  test('default: deletes nothing', () => {
    const history = aHistory(4)
    expect(deleteStep(contextOf({}), history)).toBe(false)
    expect(heldOf(history)).toBe(4)
  })

  test('behavior: by age, markets that began before; they are 404, and their day says so', async () => {
    const history = aHistory(4)
    const context = contextOf({ BOOKFEED_KEEP_DAYS: '2' })
    while (deleteStep(context, history));
    expect(heldOf(history)).toBe(2)
    const { send } = createHarness({ history })
    const gone = `/v1/btc/markets/${conditionIdOf(4)}`
    for (const path of [gone, `${gone}/snapshots`, `${gone}/coverage`]) {
      const response = await send(path)
      expect([response.status, await response.json()]).toMatchObject([
        404,
        { code: 'unknown_market' },
      ])
    }
    const day = new Date(NOW_MS - 4 * DAY_MS).toISOString().slice(0, 10)
    const { data } = (await (
      await send(`/v1/btc/coverage?from=${day}T00:00:00Z&to=${day}T23:59:59Z`)
    ).json()) as {
      data: object[]
    }
    expect(data).toMatchObject([{ day, state: 'missing', markets: 0 }])
  })

  test('behavior: by size, the oldest until it fits, and nothing that just began', () => {
    const context = contextOf({ BOOKFEED_KEEP_GB: '1' })
    const history = aHistory(4)
    expect(deleteStep(context, history)).toBe(false)
    let gb = 2
    const asked: number[] = []
    const large = {
      usedBytes: () => gb * 1e9,
      deleteOldest(beforeMs: number) {
        asked.push(beforeMs)
        gb -= 0.5
        return true
      },
    }
    while (deleteStep(context, large));
    expect(asked).toEqual([NOW_MS - 3_600_000, NOW_MS - 3_600_000])
  })
})
