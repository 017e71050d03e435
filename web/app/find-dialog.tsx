/**
 * Finds a market: by slug, coin, length, day and time, among favourites and those opened before.
 */

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

import { type Problem, toProblem } from '../lib/api.ts'
import { nowMs } from '../lib/clock.ts'
import { toDay } from '../lib/days.ts'
import { findMarkets } from '../lib/find-markets.ts'
import { type FindTerms, readFindTerms } from '../lib/find-terms.ts'
import { showDate, showMarket, showSome } from '../lib/format.ts'
import { navigate, useLocation } from '../lib/location.ts'
import { mayRead, useRights } from '../lib/rights.ts'
import { favouriteMarkets, recentMarkets, type SavedMarket } from '../lib/saved-markets.ts'
import { useStore } from '../lib/store.ts'
import { guides } from '../pages/docs/guides.ts'
import { coinNames } from '../parts/links.tsx'
import { SimulatedTag } from '../parts/simulated.tsx'

/** Pause in typing before the server is asked. */
const TYPED_MS = 250
const RECENT_SHOWN = 6

type Option = { href: string; text: string; note?: string | undefined; source?: string }

type Props = {
  /** Text that was typed before the dialog was loaded. */
  typed: string
  /** Called when the visitor has chosen or closes the dialog. */
  onClose: () => void
}

/** It is shown as long as it is there. */
export function FindDialog({ typed, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the next key is pressed.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const close = () => dialog.current?.close()
  const [text, setText] = useState(typed)
  const found = useFound(text)
  const { options, say } = useOptions(text, found)
  const [chosen, setChosen] = useState(0)
  // In a new list, the first option is active.
  useEffect(() => setChosen(0), [options])
  const id = useId()
  const at = Math.min(chosen, options.length - 1)

  const open = (option: Option | undefined) => {
    if (option === undefined) return
    close()
    navigate(option.href)
  }
  const press = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1 }
    const next = moves[event.key]
    if (next !== undefined && options.length > 0) {
      event.preventDefault()
      setChosen((next + options.length) % options.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(options[at])
    }
  }
  return (
    <dialog
      ref={dialog}
      class="find"
      aria-label="Find a market"
      onClose={onClose}
      onPointerDown={({ target }) => target === dialog.current && close()}
    >
      <div class="find-box">
        <div class="find-head">
          <input
            type="text"
            role="combobox"
            aria-label="Slug, coin, length, day, time (UTC)"
            aria-expanded={options.length > 0}
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            aria-activedescendant={options.length > 0 ? `${id}-${at}` : undefined}
            autocomplete="off"
            spellcheck={false}
            placeholder="btc 5m Apr 14 08:05, or a slug"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
            onKeyDown={press}
          />
          <label class="find-day">
            <span class="sr">Day (UTC)</span>
            <input
              type="date"
              value={dayOf(found.terms)}
              onChange={({ currentTarget: { value } }) => setText(withDay(text, value))}
            />
          </label>
          <button type="button" class="icon-button" aria-label="Close" onClick={close}>
            <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
              <path d="M5 5l10 10M15 5 5 15" />
            </svg>
          </button>
        </div>
        <p class="note find-say" role="status">
          {say}
        </p>
        <div id={`${id}-list`} role="listbox" aria-label="Markets" hidden={options.length === 0}>
          {options.map((option, index) => (
            <button
              key={option.href}
              type="button"
              tabIndex={-1}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              ref={(item) => {
                if (index === at) item?.scrollIntoView({ block: 'nearest' })
              }}
              onPointerMove={() => setChosen(index)}
              onClick={() => open(option)}
            >
              <span class="num">{option.text}</span>
              <SimulatedTag source={option.source} />
              {option.note && <span class="note">{option.note}</span>}
            </button>
          ))}
        </div>
      </div>
    </dialog>
  )
}

/** The text with the day of the date picker in place of the typed one. */
function withDay(text: string, day: string): string {
  const rest = text
    .replace(/\b\d{4}-\d{2}-\d{2}\b/, '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${rest} ${day}`.trim()
}

const dayOf = ({ dayMs, momentMs }: FindTerms): string => {
  const ms = dayMs ?? momentMs
  return ms === undefined ? '' : toDay(ms)
}

type Found = {
  terms: FindTerms
  /** The coin whose markets are searched. */
  coin: string
  /** Undefined before a request and while it runs. */
  markets: readonly SavedMarket[] | undefined
  /** True if there are more. */
  hasMore: boolean
  problem: Problem | undefined
}

/** Matches from the server, requested after a pause in typing. */
function useFound(text: string): Found {
  const rights = useRights()
  const { path } = useLocation()
  const terms = useMemo(() => readFindTerms(text, coinNames, nowMs()), [text])
  const readable = Object.keys(coinNames).filter(
    (coin) => rights && mayRead(rights, { route: 'markets', coin }),
  )
  const [, , here = ''] = path.split('/')
  const coin = terms.coin ?? (here in coinNames ? here : (readable[0] ?? 'btc'))
  const mayAsk = readable.includes(coin)
  const [answer, setAnswer] = useState<
    { of: string } & Pick<Found, 'markets' | 'hasMore' | 'problem'>
  >()
  useEffect(() => {
    if (!mayAsk || isEmpty(terms)) return
    const aborter = new AbortController()
    const { signal } = aborter
    const ask = () =>
      findMarkets({ terms, coin, coins: readable, signal }).then(
        (answer) => setAnswer({ of: text, ...answer, problem: undefined }),
        (error: unknown) => {
          const problem = toProblem(error)
          if (!signal.aborted) setAnswer({ of: text, markets: undefined, hasMore: false, problem })
        },
      )
    const timer = setTimeout(ask, TYPED_MS)
    return () => {
      clearTimeout(timer)
      aborter.abort()
    }
  }, [text, coin, mayAsk])
  if (rights && !mayAsk)
    return { terms, coin, markets: undefined, hasMore: false, problem: notReadable(coin) }
  const own = answer?.of === text ? answer : undefined
  return {
    terms,
    coin,
    markets: own?.markets,
    hasMore: own?.hasMore ?? false,
    problem: own?.problem,
  }
}

const notReadable = (coin: string): Problem => ({
  status: 403,
  code: 'tier_coin',
  title: `${coinNames[coin] ?? coin} markets are not included without a key or in your tier`,
  detail: '',
})

const isEmpty = ({ name, prefix, coin, timeframe, dayMs, momentMs }: FindTerms): boolean =>
  [name, prefix, coin, timeframe, dayMs, momentMs].every((term) => term === undefined)

/** True if only a coin is typed: its pages are options, too. */
const isCoinAlone = ({ coin, ...rest }: FindTerms): boolean =>
  coin !== undefined && isEmpty(rest) && rest.unknown.length === 0

const coinPages = (coin: string): Option[] =>
  (['markets', 'coverage', 'calibration'] as const).map((page) => ({
    href: `/${page}/${coin}`,
    text: `${coinNames[coin] ?? coin} ${page}`,
    note: 'Page',
  }))

const pages: readonly Option[] = [
  { href: '/', text: 'Board', note: 'Page' },
  { href: '/coverage', text: 'Coverage, day files and incidents', note: 'Page' },
  { href: '/calibration', text: 'Calibration', note: 'Page' },
  { href: '/pricing', text: 'Pricing', note: 'Page' },
  { href: '/account', text: 'Account', note: 'Page' },
  { href: '/swagger', text: 'API reference', note: 'Page' },
  ...guides.map(({ name, title }) => ({ href: `/docs/${name}`, text: title, note: 'Guide' })),
]
const LETTERS_MIN = 3
const PAGES_MAX = 5

/** Pages and guides whose names contain every typed word. */
function pageOptions(text: string): Option[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.join('').length < LETTERS_MIN) return []
  return pages
    .filter((page) => {
      const name = `${page.text} ${page.href}`.toLowerCase()
      return words.every((word) => name.includes(word))
    })
    .slice(0, PAGES_MAX)
}

/** The options, and a sentence about them. */
function useOptions(text: string, found: Found): { options: readonly Option[]; say: string } {
  const favourites = useStore(favouriteMarkets)
  const recent = useStore(recentMarkets)
  const { terms, coin, markets } = found
  const isBlank = text.trim() === ''
  const options = useMemo(() => {
    if (isBlank) return savedOptions(favourites, recent)
    const named = pageOptions(text)
    if (isEmpty(terms)) return named
    const ofCoin = isCoinAlone(terms) ? coinPages(coin) : []
    const ofDay = terms.dayMs === undefined ? [] : [dayOption(coin, terms.dayMs, terms.timeframe)]
    const found = (markets ?? []).map((market) => toOption(market))
    if (terms.momentMs === undefined) return [...ofCoin, ...ofDay, ...found, ...named]
    // With a time the windows of that time are meant, so Enter does nothing before they are known.
    return markets === undefined ? [] : [...found, ...ofDay]
  }, [isBlank, favourites, recent, markets, coin, terms, text])
  return { options, say: sayOf(found, isBlank, options.length) }
}

function savedOptions(
  favourites: readonly SavedMarket[],
  recent: readonly SavedMarket[],
): Option[] {
  const marked = new Set(favourites.map(({ conditionId }) => conditionId))
  const opened = recent.filter(({ conditionId }) => !marked.has(conditionId))
  return [
    ...favourites.map((market) => toOption(market, 'Favourite')),
    ...opened.slice(0, RECENT_SHOWN).map((market) => toOption(market, 'Opened before')),
  ]
}

const toOption = (market: SavedMarket, note?: string): Option => ({
  href: `/markets/${market.symbol}/${market.slug ?? market.conditionId}`,
  text: showMarket(market),
  note,
  source: market.source,
})

const dayOption = (coin: string, dayMs: number, timeframe: string | undefined): Option => ({
  href: `/markets/${coin}?date=${toDay(dayMs)}${timeframe === undefined ? '' : `&timeframe=${timeframe}`}`,
  text: `All ${coin.toUpperCase()} ${timeframe ?? ''} markets of ${showDate(dayMs)}`.replace(
    '  ',
    ' ',
  ),
})

const HELP = 'Type a slug, a page, or a coin with a length, a day and a time (UTC).'

function sayOf(found: Found, isBlank: boolean, count: number): string {
  const { terms, coin, markets, hasMore, problem } = found
  if (isBlank) return count > 0 ? '' : HELP
  if (problem) return `${problem.title}.`
  if (isEmpty(terms)) return count > 0 ? '' : HELP
  if (markets === undefined) return 'Searching…'
  const shown = showSome(markets.length, 'market')
  const parts = [hasMore ? `The first ${shown} of more.` : `${shown}.`]
  if (markets.length === 0) parts[0] = 'No market matches.'
  if (terms.coin === undefined) parts.push(`Searched ${coinNames[coin] ?? coin} only.`)
  if (terms.unknown.length > 0) parts.push(`Not understood: ${terms.unknown.join(' ')}.`)
  return parts.join(' ')
}
