/** What can be done with a market: mark it, go to the windows beside it, see it at the venue. */

import { useEffect, useRef, useState } from 'preact/hooks'

import { toProblem } from '../../lib/api.ts'
import type { Market } from '../../lib/bodies.ts'
import { facts } from '../../lib/facts.ts'
import { navigate } from '../../lib/location.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import {
  favouriteMarkets,
  isFavourite,
  noteOpened,
  toggleFavourite,
} from '../../lib/saved-markets.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { type Direction, findNeighbour, pageOf } from './neighbour.ts'

export function MarketTools({ market }: { market: Market }) {
  useEffect(() => noteOpened(market), [market.conditionId])
  const rights = useRights()
  const mayList = rights && mayRead(rights, { route: 'markets', coin: market.symbol })
  const { slug, source } = market
  const { venue } = facts
  return (
    // None of it points at a moment, which would end following.
    <div class="row market-tools" onPointerDown={(event) => event.stopPropagation()}>
      {mayList && market.windowStart !== null && <Windows market={market} />}
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
    </div>
  )
}

const windows = [
  ['previous', '‹ Previous', 'There is no earlier window with books.'],
  ['next', 'Next ›', 'There is no later window with books.'],
] as const satisfies readonly (readonly [Direction, string, string])[]

/** The way that was taken to this page: its button has the focus again, for the next step. */
let taken: Direction | undefined

/** They are looked for when they are wanted: a first view takes few requests. */
function Windows({ market }: { market: Market }) {
  const [said, setSaid] = useState('')
  const buttons = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    buttons.current?.querySelector<HTMLElement>(`[data-direction=${taken ?? 'none'}]`)?.focus()
    taken = undefined
  }, [])
  const go = async (direction: Direction, none: string) => {
    try {
      const found = await findNeighbour(market, direction, true)
      if (found === undefined) setSaid(none)
      else {
        taken = direction
        navigate(pageOf(found))
      }
    } catch (error) {
      setSaid(`${toProblem(error).title}.`)
    }
  }
  return (
    <span class="row" ref={buttons}>
      {windows.map(([direction, text, none]) => (
        <Button
          key={direction}
          look="tiny"
          text={text}
          aria-label={`${direction === 'next' ? 'Next' : 'Previous'} window`}
          data-direction={direction}
          onClick={() => void go(direction, none)}
        />
      ))}
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
