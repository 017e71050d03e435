import { type AppError, parameterError } from '#src/core/errors.ts'
import { type Coin, type Timeframe, timeframeMs } from '#src/core/market.ts'
import { readRange } from '#src/core/time.ts'
import { excerpt } from '#src/selling/excerpt.ts'

import type { PanelQuery } from './model.ts'

/** `text` as it was sent; `beforeMs` is not negative, and no longer than the window. */
export type Offset = { text: string; beforeMs: number }

const OFFSETS_MAX = 8

const pattern = /^-(0|[1-9]\d{0,8})(ms|s|m|h)$/
const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** The scope of its cursors names all that is asked for. Throws `invalid_parameter`. */
export function readRequest(coin: Coin, query: PanelQuery) {
  const { timeframe, limit, maxAgeMs } = query
  const offsets = readOffsets(query.offsets, timeframe)
  const { fromMs, toMs } = readRange(query)
  const moments = offsets.map(({ text }) => text).join(',')
  const filters = `${moments} ${fromMs ?? ''} ${toMs ?? ''} ${maxAgeMs ?? ''}`
  return {
    scope: `panel ${coin} ${timeframe} ${filters}`,
    offsets,
    range: { coin, timeframe, fromMs, toMs, limit },
    maxAgeMs: maxAgeMs ?? Number.POSITIVE_INFINITY,
  }
}

function readOffsets(text: string, timeframe: Timeframe): Offset[] {
  const items = text.split(',', OFFSETS_MAX + 1)
  if (items.length > OFFSETS_MAX) {
    throw refuse(
      `\`offsets\` has more than ${OFFSETS_MAX} items. Ask for the others by themselves.`,
    )
  }
  const offsets = items.map((item) => readOffset(item, timeframe))
  for (const [index, { text: item, beforeMs }] of offsets.entries()) {
    const first = offsets.findIndex((offset) => offset.beforeMs === beforeMs)
    if (first === index) continue
    const same = offsets[first]?.text === item ? '' : `, the same as "${offsets[first]?.text}"`
    throw refuse(`\`offsets\` repeats "${item}"${same}. Send each moment once.`)
  }
  return offsets
}

function readOffset(item: string, timeframe: Timeframe): Offset {
  const match = pattern.exec(item)
  if (match === null) {
    throw refuse(
      `\`offsets\` has the item "${excerpt(item)}", but each must be a minus sign, a whole number without leading zeros and a unit (ms, s, m or h), such as -240s.`,
    )
  }
  const beforeMs = Number(match[1]) * (unitMs[match[2] ?? ''] ?? 0)
  if (beforeMs > timeframeMs[timeframe]) {
    throw refuse(
      `\`offsets\` has the item "${item}", which lies before the window of ${timeframe} begins. Send at most -${timeframeMs[timeframe] / 1000}s.`,
    )
  }
  return { text: item, beforeMs }
}

const refuse = (message: string): AppError => parameterError('offsets', message)
