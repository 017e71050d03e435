/** The verb that reads changes of a market's books. */

import { createGapFinder } from '#src/domain/coverage.ts'
import { otherOutcome, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { type BookText, bookTextOf, ChangeTexts, copyOf } from '#src/domain/wire/change-text.ts'

import { ChunkDecoder, SliceDecoder } from '../codec/chunk-decoder.ts'
import type { ChangeRun, ChangesQuery, MarketHistory } from '../history.ts'
import type { ChunkTable } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { MarketView, ReadMarket } from './market-read.ts'
import { createWalk, findLastRow, nameOf } from './pages.ts'
import { type PageSlice, pick } from './selection.ts'

/** The last state of an outcome that the reader has, with its text. */
type Held = Position & { text: BookText }
type HeldBooks = { [outcome in Outcome]?: Held }

export function createChangeReads(
  { chunks }: Tables,
  read: ReadMarket,
): Pick<MarketHistory, 'changes'> {
  const reader = new ChunkDecoder()
  /** The buffer of the last finished walk, reused: growing one costs more than filling it. */
  let spare: ChangeTexts | undefined
  // Shared by all: what outlives a step is copied.
  const decoder = new SliceDecoder()

  function* changes(query: ChangesQuery): Generator<ChangeRun> {
    const { market, limit = Number.POSITIVE_INFINITY } = query
    // A page keeps its chunks in the cache; most chunks of a whole market are not needed again.
    using walk = createWalk(chunks, query, query.limit !== undefined)
    const texts = spare ?? new ChangeTexts()
    spare = undefined
    texts.cut(0)
    const hasGap = createGapFinder(query.gaps)
    let held = read(market, (view) => findHeld(view, chunks, reader, query))
    try {
      for (let left = limit; left > 0;) {
        const start = query.limit === undefined ? 0 : texts.length
        const found = read(market, (view) => {
          texts.cut(start)
          const slice = walk.find(view)
          if (slice === undefined) return undefined
          const first = { ...slice, to: pick(slice, left, 1).last + 1 }
          return toChanges(first, view, hasGap, held, texts)
        })
        const last = found?.rows.at(-1)
        if (found === undefined || last === undefined) return
        walk.goAfter(last)
        held = found.held
        left -= found.rows.length
        yield { rows: found.rows, texts: texts.view() }
      }
    } finally {
      spare = texts
    }
  }

  function toChanges(
    slice: PageSlice,
    { tail }: MarketView,
    hasGap: ReturnType<typeof createGapFinder>,
    before: HeldBooks,
    texts: ChangeTexts,
  ): { rows: ChangeRun['rows']; held: HeldBooks } {
    const { chunk, ref } = slice
    const notesOf = ref === undefined ? tail?.beside : chunks.loadNotes(ref, chunk)
    const held = { ...before }
    const rows: ChangeRun['rows'][number][] = []
    decoder.forEach(slice, (bytes, row, copies) => {
      const timestampMs = chunk.timeMs(row)
      const id = chunk.id(row)
      const outcome = nameOf(chunk.outcome(row))
      const { receivedMs, isVerified } = notesOf?.(row, timestampMs) ?? {}
      const text = bookTextOf(decoder, bytes.byteOffset, bytes.byteOffset + bytes.length)
      const last = held[outcome]
      const from = texts.length === 0 ? 0 : texts.length + 1
      const isWhole = last === undefined || hasGap(outcome, last.timestampMs + 1, timestampMs)
      const prevId = isWhole ? undefined : last.id
      const other = held[otherOutcome(outcome)]?.id ?? 0
      const state = { timestampMs, id, other, outcome, prevId, receivedMs, isVerified, from, to: 0 }
      if (isWhole || !texts.addChange(state, text, last.text, copies)) {
        texts.addWhole(Object.assign(state, { prevId: undefined }), text)
      }
      state.to = texts.length
      held[outcome] = { timestampMs, id, text }
      rows.push(state)
    })
    for (const outcome of outcomes) {
      const last = held[outcome]
      if (last?.text.bytes === decoder.bytes) held[outcome] = { ...last, text: copyOf(last.text) }
    }
    return { rows, held }
  }

  return { changes }
}

/** The last state of each outcome up to a position, if the reader has it. */
function findHeld(
  view: MarketView,
  chunks: ChunkTable,
  reader: ChunkDecoder,
  { outcome: asked, after }: ChangesQuery,
): HeldBooks {
  const held: HeldBooks = {}
  if (after?.other === undefined) return held
  const before = { timestampMs: after.timestampMs, id: after.id + 1 }
  for (const outcome of asked === undefined ? outcomes : [asked]) {
    const last = findLastRow(view, chunks, { outcome, before })
    if (last === undefined) continue
    const { chunk, row } = last
    const id = chunk.id(row)
    if (id !== after.id && id !== after.other) continue
    held[outcome] = { timestampMs: chunk.timeMs(row), id, text: alone(reader.text(chunk, row)) }
  }
  return held
}

function alone(text: Uint8Array): BookText {
  const words = new DataView(text.buffer)
  const bytes = new Uint8Array(text.buffer)
  return copyOf(bookTextOf({ bytes, words }, text.byteOffset, text.byteOffset + text.length))
}
