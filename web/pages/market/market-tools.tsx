/** Actions for a market: mark it, go to the next window, see it at the venue. */

import { useEffect, useRef, useState } from 'preact/hooks'

import { toProblem } from '../../lib/api.ts'
import type { Market } from '../../lib/bodies.ts'
import { facts } from '../../lib/facts.ts'
import { isPlain, navigate, useLocation } from '../../lib/location.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import {
  favouriteMarkets,
  isFavourite,
  noteOpened,
  toggleFavourite,
} from '../../lib/saved-markets.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { FigureMenu } from '../../parts/figure-menu.tsx'
import { type Direction, findNeighbour, pageOf } from './neighbour.ts'

/** `isSettled`: the first charts of the page are loaded. */
type Props = { market: Market; isSettled: boolean }

export function MarketTools({ market, isSettled }: Props) {
  useEffect(() => noteOpened(market), [market.conditionId])
  const rights = useRights()
  const mayList = rights && mayRead(rights, { route: 'markets', coin: market.symbol })
  const { slug, source } = market
  const { venue } = facts
  return (
    // A click here does not point at a moment, which would end following.
    <div class="row market-tools" onPointerDown={(event) => event.stopPropagation()}>
      {mayList && market.windowStart !== null && <Windows market={market} isSettled={isSettled} />}
      <Star market={market} />
      {venue && slug !== null && source === 'recorded' && (
        <a
          class="button tiny"
          href={`https://${venue.marketPage}${slug}`}
          target="_blank"
          rel="noopener noreferrer"
        >
          {venue.name} ↗<span class="sr"> (opens in a new tab)</span>
        </a>
      )}
      <FigureMenu />
    </div>
  )
}

const windows = [
  ['previous', '‹ Previous', 'There is no earlier window with books.'],
  ['next', 'Next ›', 'There is no later window with books.'],
] as const satisfies readonly (readonly [Direction, string, string])[]

/** The direction that led to this page: its link gets the focus again, for the next step. */
let taken: Direction | undefined

/** Pause before the neighbouring windows are requested: a first view takes few requests. */
const REST_MS = 1_000

type Neighbours = Partial<Record<Direction, Market>>

/**
 * Links to the windows before and after. An unknown one is searched for when its link is clicked;
 * in a new tab, the link shows the list.
 */
function Windows({ market, isSettled }: Props) {
  // Their links keep parts of this address.
  useLocation()
  const list = `/markets/${market.symbol}?timeframe=${market.timeframe}`
  const [said, setSaid] = useState('')
  const [found, setFound] = useState<Neighbours>({})
  const links = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    links.current?.querySelector<HTMLElement>(`[data-direction=${taken ?? 'none'}]`)?.focus()
    taken = undefined
  }, [])
  const find = async (direction: Direction) => {
    const neighbour = await findNeighbour(market, direction, true)
    if (neighbour) setFound((before) => ({ ...before, [direction]: neighbour }))
    return neighbour
  }
  useEffect(() => {
    if (!isSettled) return
    const timer = setTimeout(() => {
      // If this fails, they are searched for when a link is clicked.
      for (const [direction] of windows) find(direction).catch(() => undefined)
    }, REST_MS)
    return () => clearTimeout(timer)
  }, [isSettled])
  const go = async (direction: Direction, none: string) => {
    try {
      const neighbour = await find(direction)
      if (neighbour) navigate(pageOf(neighbour))
      else setSaid(none)
    } catch (error) {
      setSaid(`${toProblem(error).title}.`)
    }
  }
  return (
    <span class="row" ref={links}>
      {windows.map(([direction, text, none]) => {
        const neighbour = found[direction]
        return (
          <a
            key={direction}
            class="button tiny"
            href={neighbour ? pageOf(neighbour) : list}
            aria-label={`${direction === 'next' ? 'Next' : 'Previous'} window`}
            data-direction={direction}
            onClick={(event) => {
              if (!isPlain(event)) return
              taken = direction
              if (neighbour !== undefined) return
              event.preventDefault()
              void go(direction, none)
            }}
          >
            {text}
          </a>
        )
      })}
      <span role="status" class="note">
        {said}
      </span>
    </span>
  )
}

function Star({ market }: { market: Market }) {
  const isMarked = isFavourite(useStore(favouriteMarkets), market)
  return (
    <Button look="tiny" aria-pressed={isMarked} onClick={() => toggleFavourite(market)}>
      <span aria-hidden="true">{isMarked ? '★' : '☆'}</span> Favourite
    </Button>
  )
}
