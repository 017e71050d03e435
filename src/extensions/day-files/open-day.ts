/** The day whose files can be read without a key. */
import { type Coin, coins, type Timeframe, timeframes } from '#src/domain/market.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { type DayFile, type FileStore, newestRevision, type Place } from './store.ts'

/** How long a choice is reused: choosing looks at each coin and timeframe. */
const CHOICE_MS = 10_000

export type OpenDay = () => readonly DayFile[]

type Deps = {
  files: FileStore
  history: Pick<MarketHistory, 'listMarkets'>
  clock: Clock
  /** A UTC day, `auto`, or `off`. */
  choice: string
}

/** Returns a function that lists the newest files of the day; none if no day is open. */
export function createOpenDay({ files, history, clock, choice }: Deps): OpenDay {
  let listed: { files: readonly DayFile[]; untilMs: number } = { files: [], untilMs: 0 }

  const isSimulated = ({ coin, timeframe, day }: Place): boolean => {
    const fromMs = Date.parse(`${day}T00:00:00Z`)
    const range = { coin, timeframe, fromMs, toMs: fromMs + DAY_MS }
    return history.listMarkets({ ...range, source: 'recorded', limit: 1 }).length === 0
  }

  const newestSimulated = (series: { coin: Coin; timeframe: Timeframe }): Place[] => {
    const days = files.daysOf(series).map((day) => ({ ...series, day }))
    const found = days.findLast(isSimulated)
    return found === undefined ? [] : [found]
  }

  function choose(): Place[] {
    const series = coins.flatMap((coin) => timeframes.map((timeframe) => ({ coin, timeframe })))
    if (choice !== 'auto') return series.map((each) => ({ ...each, day: choice }))
    const places = series.flatMap(newestSimulated)
    const newest = places
      .map(({ day }) => day)
      .sort()
      .at(-1)
    return places.filter(({ day }) => day === newest)
  }

  return () => {
    const nowMs = clock()
    if (choice !== 'off' && nowMs >= listed.untilMs) {
      const found = choose().flatMap((place) => {
        const list = files.find(place)?.files ?? []
        const revision = newestRevision(list)
        return list.filter((file) => file.revision === revision)
      })
      listed = { files: found, untilMs: nowMs + CHOICE_MS }
    }
    return listed.files
  }
}
