/** What comes of an open market while it is looked at. */

import { useEffect, useState } from 'preact/hooks'

import { type Gap, toGap } from '../../charts/line-data.ts'
import type { Book, Outcome, Quote } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { followEvents, type ServerEvent } from '../../lib/events.ts'

export type Live = {
  state: 'off' | 'live' | 'waiting' | 'stale'
  /** When the last row came, or the stream began, by the clock of this device. */
  heardMs: number
  quotes: Quote[]
  gaps: readonly Gap[]
  books: Record<Outcome, Book[]>
}

/** Rows that come within this are drawn at once. */
const DRAW_MS = 150

type Options = {
  path: string
  isOn: boolean
  /** Whole books, or prices alone. */
  channel: 'snapshots' | 'prices'
  /** More is known of the market: its strike, that its window is over, who won. */
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
      if (event === 'stale' || event === 'current') {
        now.state = event === 'stale' ? 'stale' : 'live'
        draw()
      }
      if (event === 'gap') {
        now.gaps = noteGap(gaps, JSON.parse(data) as Told)
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
      // What came stays until the history has it.
      clearTimeout(timer)
    }
  }, [path, isOn, channel])
  return live
}

/** Since when neither outcome has been recorded; undefined while one is. */
export function unrecordedSince({ gaps }: Pick<Live, 'gaps'>): number | undefined {
  const open = gaps.filter(({ toMs }) => toMs === Infinity)
  if (new Set(open.map(({ outcome }) => outcome)).size < 2) return undefined
  return Math.max(...open.map(({ fromMs }) => fromMs))
}

type Told = { outcome: Outcome; reason: string; from: string; to: string | null }

/** All that are known; nothing is missing after all where one is empty. */
function noteGap(gaps: Map<string, Gap>, told: Told): Gap[] {
  const key = `${told.outcome} ${told.reason} ${told.from}`
  if (told.to === told.from) gaps.delete(key)
  else gaps.set(key, toGap(told))
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
