/** What comes of an open market while it is looked at. */

import { useEffect, useState } from 'preact/hooks'

import type { Book, Outcome, Quote } from '../../lib/bodies.ts'
import { followEvents, type ServerEvent } from '../../lib/events.ts'

export type Live = {
  state: 'off' | 'live' | 'waiting' | 'over'
  quotes: Quote[]
  books: Record<Outcome, Book[]>
}

/** Rows that come within this are drawn at once. */
const DRAW_MS = 150

type Options = {
  path: string
  isOn: boolean
  /** Whole books, or prices alone. */
  channel: 'snapshots' | 'prices'
  onOver: () => void
}

export function useLive({ path, isOn, channel, onOver }: Options): Live {
  const [live, setLive] = useState<Live>(nothing('off'))
  useEffect(() => {
    if (!isOn) return
    const aborter = new AbortController()
    const now = nothing('waiting')
    let timer = 0
    const draw = () => {
      timer ||= window.setTimeout(() => {
        timer = 0
        setLive({ ...now, quotes: [...now.quotes], books: { ...now.books } })
      }, DRAW_MS)
    }
    const take = ({ event, data }: ServerEvent) => {
      if (event === 'market_resolved' || event === 'market_closed') onOver()
      if (event !== 'row' && event !== 'snapshot') return
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
          draw()
        },
      },
    )
    return () => {
      aborter.abort()
      clearTimeout(timer)
      setLive(nothing('off'))
    }
  }, [path, isOn, channel])
  return live
}

const nothing = (state: Live['state']): Live => ({ state, quotes: [], books: { up: [], down: [] } })

function topOf({ outcome, timestamp, bids, asks }: Book): Quote {
  const [bid, ask] = [bids[0]?.price ?? null, asks[0]?.price ?? null]
  const mid = bid === null || ask === null ? null : (bid + ask) / 2
  return { outcome, timestamp, bid, ask, mid }
}
