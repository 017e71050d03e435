/** Filters of the list of markets, kept in the address so that it can be shared. */

import type { QueryValues } from '../../lib/api.ts'
import { nowMs } from '../../lib/clock.ts'
import { DAY_MS, startOfDay, toDay } from '../../lib/days.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'

const lengths = [
  [undefined, 'All'],
  ...['5m', '15m', '1h', '4h', '1d'].map((each) => [each, each] as const),
] as const

const sources = [
  ['recorded', 'Recorded'],
  ['simulated', 'Simulated'],
  ['all', 'Both'],
] as const

type Filters = {
  timeframe: string | undefined
  /** The first millisecond of a UTC day. */
  dayMs: number | undefined
  source: string | undefined
  isWithBooks: boolean
}

/**
 * `hasBooks`: some market of the coin has books, so those with books are listed unless the address
 * says no.
 */
export function useFilters(hasBooks: boolean): Filters {
  const { query } = useLocation()
  const dayMs = Date.parse(`${query.get('date')}T00:00:00Z`)
  return {
    timeframe: lengths.find(([each]) => each === query.get('timeframe'))?.[0],
    dayMs: Number.isNaN(dayMs) ? undefined : dayMs,
    source: sources.find(([each]) => each === query.get('source'))?.[0],
    isWithBooks: hasBooks ? query.get('books') !== 'no' : query.get('books') === 'yes',
  }
}

/** The filters as parameters of the API. */
export const toQuery = ({ timeframe, dayMs, source, isWithBooks }: Filters): QueryValues => ({
  timeframe,
  source,
  from: dayMs,
  to: dayMs === undefined ? undefined : dayMs + DAY_MS,
  withBooks: isWithBooks ? true : undefined,
})

type Props = {
  filters: Filters
  hasBooks: boolean
  /** Recorded and simulated markets of the coin are held. */
  hasBoth: boolean
}

export function MarketFilters({ filters, hasBooks, hasBoth }: Props) {
  const { timeframe, dayMs, source, isWithBooks } = filters
  const showDay = (ms: number | undefined) => setQuery({ date: ms === undefined ? ms : toDay(ms) })
  const today = startOfDay(nowMs())
  return (
    <div class="row filters">
      <div class="row day-filter" role="group" aria-label="Day of the window, UTC">
        <Button
          text="‹"
          look="tiny"
          aria-label="Day before"
          onClick={() => showDay((dayMs ?? today + DAY_MS) - DAY_MS)}
        />
        <input
          type="date"
          aria-label="Day (UTC)"
          value={dayMs === undefined ? '' : toDay(dayMs)}
          onChange={({ currentTarget: { value } }) =>
            setQuery({ date: value === '' ? undefined : value })
          }
        />
        <Button
          text="›"
          look="tiny"
          aria-label="Day after"
          disabled={dayMs === undefined}
          onClick={() => showDay(dayMs === undefined ? dayMs : dayMs + DAY_MS)}
        />
        {dayMs !== undefined && (
          <Button text="All days" look="tiny" onClick={() => showDay(undefined)} />
        )}
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={isWithBooks}
          onChange={({ currentTarget: { checked } }) => {
            const named = checked ? 'yes' : 'no'
            setQuery({ books: checked === hasBooks ? undefined : named })
          }}
        />
        With books
      </label>
      {hasBoth && (
        <Choice
          label="Source"
          options={sources}
          value={source ?? 'recorded'}
          onChoose={(each) => setQuery({ source: each === 'recorded' ? undefined : each })}
        />
      )}
      <Choice
        label="Length of the window"
        options={lengths}
        value={timeframe}
        onChoose={(each) => setQuery({ timeframe: each })}
      />
    </div>
  )
}
