/** The server extension of day files. */
import { settingsOf } from '#src/config/config.ts'
import { type Coin, coins, timeframes } from '#src/domain/market.ts'
import type { ServerExtension } from '#src/server/extension.ts'
import { startCommand } from '#src/server/scheduled-command.ts'

import { createOpenDay } from './open-day.ts'
import { fileRoutes } from './routes.ts'
import { createFileStore, filesPathOf, type FileStore } from './store.ts'
import { variables } from './variables.ts'

/** The days with files of a coin, with their timeframes. */
const listDays = (files: Pick<FileStore, 'daysOf'>, coin: Coin) =>
  timeframes.flatMap((timeframe) =>
    files.daysOf({ coin, timeframe }).map((day) => ({ coin, timeframe, day })),
  )

/** A file of the newest day of each timeframe, preferably of quotes. */
function findExample(files: Pick<FileStore, 'daysOf' | 'find'>, coin: Coin): string | undefined {
  const names = timeframes.flatMap((timeframe) => {
    const place = listDays(files, coin).findLast((each) => each.timeframe === timeframe)
    return place === undefined ? [] : (files.find(place)?.files ?? []).map(({ name }) => name)
  })
  return names.find((name) => name.includes('-quotes-decimal-')) ?? names[0]
}

/** `open` opens the files of a data folder. */
export const createDayFiles = (
  open = (dataPath: string): FileStore => createFileStore(filesPathOf(dataPath)),
): ServerExtension => ({
  dataRoutes(api, { config, history, clock, ...services }) {
    const files = open(config.dataPath)
    const choice = config.sampleMarket === 'off' ? 'off' : settingsOf(config, variables).openDay
    const openDay = createOpenDay({ files, history, clock, choice })
    const { publicUrl } = config
    return [fileRoutes(api, { files, clock, openDay, publicUrl, ...services })]
  },
  jobs: [
    {
      name: 'files',
      about: 'Makes files of days that are final, if BOOKFEED_FILES is on.',
      start: (context, report) =>
        settingsOf(context.config(), variables).makesFiles
          ? startCommand(
              context,
              { args: ['files', 'make'], failed: 'files could not be made' },
              report,
            )
          : undefined,
    },
  ],
  async makeDays(history, { dataPath, nowMs, coins: own, timeframes: ofOwn }) {
    const { makeDayFiles } = await import('./maker.ts')
    const store = open(dataPath)
    const assertMayWrite = () => undefined
    makeDayFiles({ history, store, nowMs, assertMayWrite }, { coins: own, timeframes: ofOwn })
  },
  findExamples({ config }) {
    const files = open(config.dataPath)
    return {
      coins: coins.filter((coin) => listDays(files, coin).length > 0),
      dayOf(coin) {
        const file = findExample(files, coin)
        return file === undefined ? {} : { file }
      },
    }
  },
})
