/** Rows and gaps that arrive while an open market is shown. */

import { useEffect, useState } from 'preact/hooks'

import { type Gap, toGap } from '../../charts/line-data.ts'
import type { Book, Outcome, Quote } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { followEvents, type ServerEvent } from '../../lib/events.ts'

export type Live = {
  state: 'off' | 'live' | 'waiting'
  /** When the last row came, or the stream began, by the clock of this device. */
  heardMs: number
  quotes: Quote[]
  gaps: readonly Gap[]
  books: Record<Outcome, Book[]>
}

/** Rows that arrive within this time are drawn together. */
const DRAW_MS = 150

type Options = {
  path: string
  isOn: boolean
  /** Whole books, or prices alone. */
  channel: 'snapshots' | 'prices'
  /** Called when the market changes: its strike is known, its window ends, or it has a winner. */
  onChange: () => void
}

export function useLive({ path, isOn, channel, onChange }: Options): Live {
  const [live, setLive] = useState<Live>(nothing('off'))
  useEffect(() => {
    if (!isOn) return
    const aborter = new AbortController()
    const now = nothing('waiting')
    const gaps = new Map<string, Gap>()
    let timer = 0
    const draw = () => {
      timer ||= window.setTimeout(() => {
        timer = 0
        setLive({ ...now, quotes: [...now.quotes], books: { ...now.books } })
      }, DRAW_MS)
    }
    const take = ({ event, data }: ServerEvent) => {
      if (event.startsWith('market_')) onChange()
      if (event === 'gap') {
        now.gaps = noteGap(gaps, JSON.parse(data) as GapEvent)
        draw()
      }
      if (event !== 'row' && event !== 'snapshot') return
      now.heardMs = nowMs()
      const row = JSON.parse(data) as Book | Quote
      if ('bids' in row) {
        now.books[row.outcome] = [...now.books[row.outcome], row]
        now.quotes.push(topOf(row))
      } else now.quotes.push(row)
      draw()
    }
    void followEvents(
      path,
      { channel },
      {
        signal: aborter.signal,
        onEvent: take,
        onState: (state) => {
          now.state = state
          if (state === 'live') now.heardMs = nowMs()
          draw()
        },
      },
    )
    return () => {
      aborter.abort()
      // Streamed rows stay until the history has them.
      clearTimeout(timer)
    }
  }, [path, isOn, channel])
  return live
}

/** Time since when neither outcome is recorded; undefined while one is. */
export function unrecordedSince({ gaps }: Pick<Live, 'gaps'>): number | undefined {
  const open = gaps.filter(({ toMs }) => toMs === Infinity)
  if (new Set(open.map(({ outcome }) => outcome)).size < 2) return undefined
  return Math.max(...open.map(({ fromMs }) => fromMs))
}

type GapEvent = { outcome: Outcome; reason: string; from: string; to: string | null }

/** Stores a gap and returns all of them; an empty gap withdraws one. */
function noteGap(gaps: Map<string, Gap>, event: GapEvent): Gap[] {
  const key = `${event.outcome} ${event.reason} ${event.from}`
  if (event.to === event.from) gaps.delete(key)
  else gaps.set(key, toGap(event))
  return [...gaps.values()]
}

export const nothing = (state: Live['state']): Live => ({
  state,
  heardMs: 0,
  quotes: [],
  gaps: [],
  books: { up: [], down: [] },
})

export function topOf({ outcome, timestamp, bids, asks }: Book): Quote {
  const bid = bids[0]?.price ?? null
  const ask = asks[0]?.price ?? null
  const mid = bid === null || ask === null ? null : (bid + ask) / 2
  return { outcome, timestamp, bid, ask, mid }
}
