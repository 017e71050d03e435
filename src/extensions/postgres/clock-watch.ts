/**
 * Compares the clock of this machine once a second with the clock of the database, and with the
 * other processes, which write their offsets to `heartbeat`.
 */
import type { StoreName } from '#src/database/stores.ts'
import { clockFault, distanceFrom, referenceOf } from '#src/domain/clock-fault.ts'
import { within } from '#src/platform/timeout.ts'
import type { CliContext, ClockWatch } from '#src/server/extension.ts'

import { addressOf } from './address.ts'
import { closeNow, connect, NOW_MS, runOn } from './connection.ts'
import { formats } from './formats.ts'

const BEAT_MS = 1000
const ANSWER_MS_MAX = 2000
/** A process without a heartbeat for this long has ended. */
const LIVE_MS = 5000
/** No reader depends on these rows, so the commit need not wait for a standby. */
const WAIT_FOR_NONE = 'SET synchronous_commit TO local'
const BEAT = `INSERT INTO heartbeat (server, number, at_ms, ahead_ms) VALUES ($1, 0, ${NOW_MS}, $2)
  ON CONFLICT (server) DO UPDATE SET at_ms = excluded.at_ms, ahead_ms = excluded.ahead_ms
  RETURNING at_ms, (SELECT string_agg(CAST(other.ahead_ms AS TEXT), ',') FROM heartbeat AS other
    WHERE other.server <> $1 AND other.ahead_ms IS NOT NULL AND other.at_ms > ${NOW_MS} - ${LIVE_MS})`
const END = 'DELETE FROM heartbeat WHERE server = $1'

/**
 * Compares with the clock of a store's database. Resolves after the first comparison, or when the
 * database has not answered for two seconds.
 */
export async function watchClock(
  { clock, createId }: Pick<CliContext, 'clock' | 'createId'>,
  { store, place }: { store: StoreName; place: string },
): Promise<ClockWatch> {
  const sql = connect(addressOf(place, formats[store].schema))
  const name = createId()
  /** Milliseconds that this clock is ahead of the database; undefined before the first response. */
  let aheadMs: number | undefined
  let others: readonly number[] = []
  let isBeating = false

  async function beat(): Promise<void> {
    await runOn(sql, { text: WAIT_FOR_NONE, values: [] })
    const begunMs = clock()
    const values = [name, aheadMs === undefined ? null : Math.round(aheadMs)]
    const { rows } = await runOn(sql, { text: BEAT, values, isBare: true })
    const [atMs, ahead] = rows[0] as [number, string | null]
    aheadMs = distanceFrom(0, atMs - clock(), atMs - begunMs)
    others = ahead === null ? [] : ahead.split(',').map(Number)
  }

  async function tryToBeat(): Promise<void> {
    if (isBeating) return
    isBeating = true
    // While the database does not respond, the last measurement remains valid.
    await within(ANSWER_MS_MAX, beat()).catch(() => undefined)
    isBeating = false
  }

  await tryToBeat()
  const timer = setInterval(tryToBeat, BEAT_MS)
  return {
    fault: () =>
      aheadMs === undefined ? undefined : clockFault(aheadMs - referenceOf(others), others.length),
    async dispose() {
      clearInterval(timer)
      await within(ANSWER_MS_MAX, runOn(sql, { text: END, values: [name] })).catch(() => undefined)
      await closeNow(sql)
    },
  }
}
