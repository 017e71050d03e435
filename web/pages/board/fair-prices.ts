/** The calibration of the coins on the board, which is read once for each. */

import { useEffect } from 'preact/hooks'

import { request, toProblem } from '../../lib/api.ts'
import type { CalibrationTable, Listed } from '../../lib/bodies.ts'
import { type Edge, edgeOf, type Fair, fairOf } from '../../lib/fair.ts'
import { createStore } from '../../lib/store.ts'
import type { FollowedBoard, Row, Shown } from './follow-board.ts'

/** An older price is not current; the calibration leaves it out, too. */
const SPOT_AGE_MS_MAX = 10_000
/** A server that has just started has no tables yet. */
const AGAIN_MS = 120_000

type Series = Pick<Row, 'symbol' | 'timeframe' | 'source'>
const nameOf = ({ symbol, timeframe, source }: Series): string => `${source} ${symbol}-${timeframe}`

export const tables = createStore<ReadonlyMap<string, CalibrationTable>>(new Map())

export const tableOf = (row: Series): CalibrationTable | undefined => tables.get().get(nameOf(row))

/** Undefined if the table, the strike or a current price is missing. */
export function fairOfRow(row: Row, nowMs: number): Fair | undefined {
  const { spot, strike, windowEnd } = row
  const table = tableOf(row)
  if (table === undefined || spot === null || strike === null || windowEnd === null)
    return undefined
  if (nowMs - Date.parse(spot.timestamp) > SPOT_AGE_MS_MAX) return undefined
  return fairOf(table, { price: spot.price, strike, leftMs: Date.parse(windowEnd) - nowMs })
}

/** Undefined also while the book is older than a gap. */
export function edgeOfShown({ row, nowMs }: Pick<Shown, 'row' | 'nowMs'>): Edge | undefined {
  const fair = row.recording.state === 'recorded' ? fairOfRow(row, nowMs) : undefined
  return fair === undefined || row.mid === null ? undefined : edgeOf(fair, row.mid)
}

/** Reads the tables of a coin when the first window of the coin is on the board. */
export function useFairPrices(board: FollowedBoard | undefined, key: string | undefined): void {
  useEffect(() => {
    if (board === undefined) return
    const aborter = new AbortController()
    const asked = new Set<string>()
    const read = async (coin: string) => {
      const { signal } = aborter
      let isThere = false
      try {
        const { data } = await request<Listed<CalibrationTable>>(`/v1/${coin}/calibration`, {
          signal,
        })
        isThere = data.length > 0
        tables.set(new Map([...tables.get(), ...data.map((each) => [nameOf(each), each] as const)]))
      } catch (error) {
        // A tier or a server without it will have none in two minutes, either.
        const { status } = toProblem(error)
        isThere = status === 401 || status === 403 || status === 404
      }
      if (!isThere && !signal.aborted) setTimeout(() => asked.delete(coin), AGAIN_MS)
    }
    const look = () => {
      for (const store of board.windows.values()) {
        const { symbol } = store.get().row
        if (asked.has(symbol)) continue
        asked.add(symbol)
        void read(symbol)
      }
    }
    look()
    const end = board.changes.subscribe(look)
    return () => {
      aborter.abort()
      end()
    }
  }, [board, key])
}
