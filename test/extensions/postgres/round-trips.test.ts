/** How often a verb waits for PostgreSQL, which may be far away. */
import { describe, expect, test } from 'bun:test'

import { formats } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../../history/books.ts'
import { aKey, by, createKeyOne, keyIdOf, NOW_MS } from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openProxy } from '../../support/proxy-thread.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const MS_MAX = 300_000
/** No answer comes before everything that is sent with its question. */
const LAG_MS = 50
const WAITS_MAX = 4

describe.skipIf(postgresPrograms === undefined)('round trips to PostgreSQL', () => {
  const { placeOf } = usePostgres()

  function openLink(schema: string) {
    const url = new URL(placeOf(schema))
    const proxy = openProxy(Number(url.port))
    url.port = String(proxy.port)
    return { place: url.href, turns: proxy.turns, lag: proxy.lag, [Symbol.dispose]: proxy.stop }
  }

  /** Of `act`, once its statements are prepared. */
  async function count(
    { lag, turns }: ReturnType<typeof openLink>,
    act: () => Promise<unknown>,
    prepare: () => Promise<unknown> = async () => {},
  ): Promise<number> {
    for (let warm = 0; warm < 2; warm++) {
      await prepare()
      await act()
    }
    await prepare()
    lag(LAG_MS)
    const before = turns()
    await act()
    lag(0)
    return turns() - before
  }

  let written = 0
  const aBatch = (markets: number) => ({
    id: `books-${++written}`,
    source: 'recorded' as const,
    gapReason: 'recorder_down' as const,
    snapshots: Array.from({ length: markets }, (_, at) =>
      aSnapshot({
        conditionId: conditionIdOf(at + 1),
        assetId: String(at + 1),
        timestampMs: START_MS + 1000 * written,
      }),
    ),
  })

  test(
    'behavior: a verb waits twice, whatever it writes, and a little more where others have written',
    async () => {
      using link = openLink('trips')
      await prepareTables(link.place, formats.history)
      const history = await openHistoryIn(link.place)
      const other = await openHistoryIn(placeOf('trips'))
      const trips = []
      for (const markets of [1, 20]) {
        const append = () => history.append(aBatch(markets))
        trips.push(await count(link, append))
        const behind = await count(link, append, () => other.append(aBatch(markets)))
        expect(behind).toBeLessThanOrEqual(WAITS_MAX)
      }
      expect(trips).toEqual([2, 2])
      for (const each of [history, other]) each.dispose()
    },
    MS_MAX,
  )

  test(
    'behavior: so does a change of a key',
    async () => {
      using link = openLink('trips_keys')
      using ledger = await openLedgerIn(link.place, { nowMs: NOW_MS })
      await createKeyOne(ledger)
      let number = 1
      expect(await count(link, () => ledger.createKey(aKey(++number), by()))).toBe(2)
      expect(await count(link, () => ledger.revokeKey(keyIdOf(number--), by()))).toBe(2)
    },
    MS_MAX,
  )
})
