/** Best bid and ask over time, from the columns that the store keeps of them: no book is opened. */
import { type ChangesPage, readChanges } from '#src/core/changes.ts'
import { putInteger } from '#src/core/micros-bytes.ts'
import { putPlace, putQuote } from '#src/core/quote-bytes.ts'
import { createTimePut, piecesOf, putPiece } from '#src/core/row-bytes.ts'
import type { ReadStates } from '#src/core/states.ts'
import { listMarks, type Mark, placeOf, readInForce } from '#src/core/steps.ts'
import type { SeriesPage, SeriesRequest } from '#src/http/series.ts'
import type { Steps } from '#src/http/work.ts'
import type { HistoryStore, Top } from '#src/store/history.ts'

type History = Pick<HistoryStore, 'tops' | 'gaps'>

/** Returns what reads a page of quotes. */
export const createQuotes = (history: History) =>
  function* ({ market, stepMs, range }: SeriesRequest): Steps<SeriesPage> {
    const read: ReadStates<Top> = (part) => history.tops({ market, ...part })
    if (stepMs === undefined) return toChanges(yield* readChanges({ read, isSame, range }))
    const marks = yield* listMarks({ market, gaps: history.gaps(market), stepMs, range })
    return yield* toSteps(read, marks, range)
  }

const isSame = (before: Top, { bidPrice, bidSize, askPrice, askSize }: Top): boolean =>
  bidPrice === before.bidPrice &&
  bidSize === before.bidSize &&
  askPrice === before.askPrice &&
  askSize === before.askSize

type Put<Row> = (bytes: Uint8Array, start: number, row: Row) => number

const pieces = piecesOf({
  open: '{',
  timestamp: ',"timestamp":"',
  next: '",',
  close: '}',
  time: '{"time":"',
  age: '","ageMs":',
  comma: ',',
})

/** Writes the members of a row and its closing brace. */
function createPut(): Put<Top> {
  const putTime = createTimePut()
  return (bytes, start, top) => {
    let at = putPiece(bytes, putPlace(bytes, start, top), pieces.timestamp)
    at = putPiece(bytes, putTime(bytes, at, top.timestampMs), pieces.next)
    return putPiece(bytes, putQuote(bytes, at, top), pieces.close)
  }
}

function toChanges({ rows, last, hasMore }: ChangesPage<Top>): SeriesPage {
  const putTop = createPut()
  const put: SeriesPage['put'] = (row, bytes, start) => {
    const top = rows[row]
    return top ? putTop(bytes, putPiece(bytes, start, pieces.open), top) : start
  }
  return { count: rows.length, put, last, hasMore }
}

type StepRow = { timeMs: number; top: Top }

function createStepPut(): Put<StepRow> {
  const putTime = createTimePut()
  const putTop = createPut()
  return (bytes, start, { timeMs, top }) => {
    let at = putTime(bytes, putPiece(bytes, start, pieces.time), timeMs)
    at = putInteger(bytes, putPiece(bytes, at, pieces.age), timeMs - top.timestampMs)
    return putTop(bytes, putPiece(bytes, at, pieces.comma), top)
  }
}

/** `marks` has one more than the page where there is one. */
function* toSteps(
  read: ReadStates<Top>,
  marks: readonly Mark[],
  { limit, order, outcome }: SeriesRequest['range'],
): Steps<SeriesPage> {
  const taken = marks.slice(0, limit)
  const ascending = order === 'asc' ? taken : taken.toReversed()
  const states = yield* readInForce(read, ascending, outcome)
  const rows = ascending.flatMap(({ timeMs }, index): StepRow[] => {
    const top = states[index]
    return top === undefined ? [] : [{ timeMs, top }]
  })
  if (order === 'desc') rows.reverse()
  const putStep = createStepPut()
  const last = taken.at(-1)
  return {
    count: rows.length,
    put(row, bytes, start) {
      const step = rows[row]
      return step ? putStep(bytes, start, step) : start
    },
    last: last && placeOf(last),
    hasMore: marks.length > limit,
  }
}
