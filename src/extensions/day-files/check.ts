/** The checks of `bookfeed doctor`. */
import type { Config } from '#src/config/config.ts'
import { coins, timeframes } from '#src/domain/market.ts'
import { count } from '#src/platform/count.ts'
import { finder, type Finding } from '#src/server/extension.ts'

import { createFileStore, filesPathOf } from './store.ts'

/** Checks the lists of day files; `bookfeed verify` reads the files themselves. */
export function checkFiles({ dataPath }: Pick<Config, 'dataPath'>): Finding[] {
  const found = finder('files')
  const store = createFileStore(filesPathOf(dataPath))
  const places = coins.flatMap((coin) =>
    timeframes.flatMap((timeframe) =>
      store.daysOf({ coin, timeframe }).map((day) => ({ coin, timeframe, day })),
    ),
  )
  if (places.length === 0) return []
  const damaged = places.filter((each) => store.find(each)?.isDamaged === true)
  const [first] = damaged
  if (first === undefined)
    return [found('ok', `${count(places.length, 'list')} of day files can be read.`)]
  const { coin, timeframe, day } = first
  return [
    found(
      'wrong',
      `${count(damaged.length, 'list')} of day files ${damaged.length === 1 ? 'is' : 'are'} damaged, such as that of ${coin} ${timeframe} ${day}.`,
      'Run bookfeed files make, which makes another revision of these days.',
    ),
  ]
}
