/** The board: its rows as they were read last, at most four times a second for all callers. */
import { tallyText } from '#src/domain/coverage.ts'
import type { Coin, Timeframe } from '#src/domain/market.ts'
import { tagOf } from '#src/domain/tag.ts'
import { type Clock, toIso } from '#src/domain/time.ts'

import type { BoardRow } from './rows.ts'

/** The shortest time between two reads. */
const REFRESH_MS = 250
/** Closed windows are kept for so long, for slow subscribers that have not received the close yet. */
const CLOSED_KEPT_MS = 600_000

/** The coins of the caller's tier, and the length that the caller filters by. */
export type Wanted = { coins: readonly Coin[]; timeframe: Timeframe | undefined }

/** `version` is that of the board when the row changed last. */
type KnownRow = { row: BoardRow; version: number }
type ClosedRow = KnownRow & { closedMs: number }
type Printed = { text: string; tag: string; coverage: string }

export type Board = ReturnType<typeof createBoard>

export function createBoard({
  read,
  clock,
  timer,
}: {
  /** Reads all rows, in their order. */
  read: (nowMs: number) => BoardRow[] | Promise<BoardRow[]>
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
}) {
  /** By condition id. */
  let known = new Map<string, KnownRow>()
  let closed: ClosedRow[] = []
  /** Rises with each change of a row; 0 is before all of them. */
  let version = 1
  let readMs = Number.NEGATIVE_INFINITY
  /** The read that all callers wait for. */
  let reading: Promise<void> | undefined
  /** Bodies since the last read, by coins and length. */
  const printed = new Map<string, Printed>()

  const isWanted = ({ row }: KnownRow, { coins, timeframe }: Wanted): boolean =>
    coins.includes(row.coin) && (timeframe === undefined || row.timeframe === timeframe)

  function take(rows: readonly BoardRow[], nowMs: number): void {
    const before = known
    known = new Map(
      rows.map((row) => {
        const last = before.get(row.conditionId)
        const isSame = last?.row.text === row.text
        return [row.conditionId, { row, version: isSame ? last.version : ++version }]
      }),
    )
    for (const [conditionId, { row }] of before)
      if (!known.has(conditionId)) closed.push({ row, version: ++version, closedMs: nowMs })
    closed = closed.filter(({ closedMs }) => nowMs - closedMs < CLOSED_KEPT_MS)
    printed.clear()
  }

  async function readAll(): Promise<void> {
    const startedMs = timer()
    const nowMs = clock()
    take(await read(nowMs), nowMs)
    readMs = startedMs
  }

  return {
    /** Reads the rows, unless they were read in the last `REFRESH_MS`. */
    async refresh(): Promise<void> {
      if (timer() - readMs < REFRESH_MS) return
      reading ??= readAll().finally(() => (reading = undefined))
      await reading
    },

    /** The page of all rows. */
    print(wanted: Wanted): Printed {
      const key = `${wanted.coins.join()} ${wanted.timeframe}`
      const found = printed.get(key)
      if (found !== undefined) return found
      const rows = [...known.values()].filter((each) => isWanted(each, wanted))
      const texts = rows.map(({ row }) => `${row.text},"history":${row.history}}`)
      const text = `{"data":[${texts.join()}],"nextCursor":null}`
      const coverage = tallyText(rows.flatMap(({ row }) => (row.isDamaged ? [] : row.tally)))
      const page = { text, tag: tagOf(text), coverage }
      printed.set(key, page)
      return page
    },

    /**
     * The event of changes after a version: rows without `history`, and windows that closed.
     * Undefined without any.
     */
    printChanges(wanted: Wanted, after: number): string | undefined {
      const isNew = (each: KnownRow) => each.version > after && isWanted(each, wanted)
      const rows = [...known.values()].filter(isNew)
      const gone = closed.filter(isNew)
      if (rows.length + gone.length === 0 && after > 0) return undefined
      const texts = rows.map(({ row }) => `${row.text}}`)
      const ids = gone.map(({ row }) => `"${row.conditionId}"`)
      return `{"time":"${toIso(clock())}","data":[${texts.join()}],"closed":[${ids.join()}]}`
    },

    get version() {
      return version
    },
  }
}
