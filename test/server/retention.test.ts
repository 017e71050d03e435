import { describe, expect, test } from 'bun:test'

import { DAY_MS } from '#src/domain/time.ts'
import { openHistory } from '#src/history/open.ts'
import { deleteStep, startRetention } from '#src/server/retention.ts'

import { conditionIdOf } from '../history/books.ts'
import { createCliContext } from '../support/cli-context.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { addOldMarkets } from '../support/old-markets.ts'

/** A closed market a day before now, the first yesterday. */
async function aHistory(days: number) {
  const history = openHistory(':memory:')
  await addOldMarkets(history, days)
  return history
}

const keeping = { keepDays: 0, keepGb: 0 }
const heldOf = (history: Awaited<ReturnType<typeof aHistory>>): number => history.totals().markets

describe('deleteStep', () => {
  test('default: deletes nothing', async () => {
    const history = await aHistory(4)
    expect(await deleteStep(keeping, history, NOW_MS)).toBe(false)
    expect(heldOf(history)).toBe(4)
  })

  test('behavior: by age, markets that began before; they are 404, and their day says so', async () => {
    const history = await aHistory(4)
    while (await deleteStep({ ...keeping, keepDays: 2 }, history, NOW_MS));
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

  test('behavior: by size, the oldest until it fits, and nothing that just began', async () => {
    const keep = { ...keeping, keepGb: 1 }
    const history = await aHistory(4)
    expect(await deleteStep(keep, history, NOW_MS)).toBe(false)
    let gb = 2
    const asked: number[] = []
    const large = {
      usedBytes: () => gb * 1e9,
      async deleteOldest(beforeMs: number) {
        asked.push(beforeMs)
        gb -= 0.5
        return true
      },
    }
    while (await deleteStep(keep, large, NOW_MS));
    expect(asked).toEqual([NOW_MS - 3_600_000, NOW_MS - 3_600_000])
  })
})

describe('startRetention', () => {
  test('behavior: says in the log that markets were deleted, and nothing when none were', async () => {
    const history = await aHistory(4)
    const { context, errors } = createCliContext({ BOOKFEED_KEEP_DAYS: '2' })
    const ended = async () => {
      const { promise, resolve } = Promise.withResolvers<string>()
      const report = {
        canStart() {},
        due() {},
        began() {},
        progress() {},
        failed() {},
        ended: (outcome: string) => resolve(outcome),
      }
      await using _job = startRetention({ ...context, clock: () => NOW_MS }, history, report)
      await promise
    }
    await ended()
    expect(heldOf(history)).toBe(2)
    expect(errors).toEqual([expect.stringContaining('beyond the limits (BOOKFEED_KEEP_DAYS=2,')])
    await ended()
    expect(errors).toHaveLength(1)
  })
})
