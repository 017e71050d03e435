/** The texts of a page's rows one by one, and what is joined from them. */
import { type Picks, type Slice, SliceDecoder, textLengthOf } from './slice-decoder.ts'

type Order = 'asc' | 'desc'

/** Slices or picks in ascending order, and the order in which their rows are wanted. */
export type RowList = { parts: readonly (Slice | Picks)[]; order: Order }

const COMMA = 0x2c
const encoder = new TextEncoder()

export class RowTexts {
  /** That of the last walk that ended, because a buffer costs more than many rows; walks may overlap. */
  #spare: SliceDecoder | undefined;

  /** Each row's JSON object; valid until the next is asked for. Each is decoded once. */
  *texts({ parts, order }: RowList): Generator<Uint8Array> {
    const decoder = this.#spare ?? new SliceDecoder()
    this.#spare = undefined
    try {
      for (const part of order === 'asc' ? parts : parts.toReversed()) {
        decoder.begin(0, textLengthOf(part))
        if ('rows' in part) decoder.addPicks(part)
        else decoder.addSlice(part)
        yield* textsIn(decoder, order)
      }
    } finally {
      this.#spare = decoder
    }
  }

  /** The rows joined by commas between `prefix` and `suffix` (ASCII). */
  joined(list: RowList, prefix: string, suffix: string): Uint8Array<ArrayBuffer> {
    const length = list.parts.reduce((sum, part) => sum + textLengthOf(part), 0)
    const page = new Uint8Array(prefix.length + length + suffix.length)
    let at = encoder.encodeInto(prefix, page).written
    let isFirst = true
    for (const text of this.texts(list)) {
      if (!isFirst) page[at++] = COMMA
      isFirst = false
      page.set(text, at)
      at += text.length
    }
    at += encoder.encodeInto(suffix, page.subarray(at)).written
    return page.subarray(0, at)
  }
}

function* textsIn({ bytes, ends }: SliceDecoder, order: Order): Generator<Uint8Array> {
  const step = order === 'asc' ? 1 : -1
  const first = step > 0 ? 0 : ends.length - 1
  for (let row = first; row >= 0 && row < ends.length; row += step) {
    // All but the first have a comma in front.
    const start = row === 0 ? 0 : (ends[row - 1] ?? 0) + 1
    yield bytes.subarray(start, ends[row])
  }
}
