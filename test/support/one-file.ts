/** A store of day files in which every valid name is one small file. */
import { join } from 'node:path'

import type { Coin } from '#src/domain/market.ts'
import type { DayFile, FileStore } from '#src/extensions/day-files/store.ts'

const path = join(import.meta.dir, 'one-file.parquet')
const BYTES = 'PAR1PAR1'
/** The day of the documentation. */
const DAY = '2026-04-14'

/** The file of a coin that always exists. */
export const fileNameOf = (coin: string): string => `${coin}-5m-${DAY}-quotes-decimal-r1.parquet`

const aFile = (coin: Coin): DayFile => ({
  name: fileNameOf(coin),
  coin,
  timeframe: '5m',
  day: DAY,
  kind: 'quotes',
  numbers: 'decimal',
  revision: 1,
  markets: 1,
  rows: 0,
  bytes: BYTES.length,
  madeMs: 0,
  sha256: new Bun.CryptoHasher('sha256').update(BYTES).digest('hex'),
})

export function createOneFile(): FileStore {
  const refuse = (): never => {
    throw new Error('Nothing is made here.')
  }
  return {
    daysOf: ({ timeframe }) => (timeframe === '5m' ? [DAY] : []),
    find: ({ coin }) => ({ source: '', files: [aFile(coin)], isDamaged: false }),
    namesOf: ({ coin }) => [fileNameOf(coin)],
    findFile(name) {
      const coin = /^(btc|eth|sol|xrp)-/.exec(name)?.[1] as Coin | undefined
      return coin !== undefined && name === fileNameOf(coin) ? { ...aFile(coin), path } : undefined
    },
    digestsOf: () => ({ files: [], madeMs: 0 }),
    write: refuse,
    putList: refuse,
    remove: refuse,
  }
}
