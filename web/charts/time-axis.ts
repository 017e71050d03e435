/** What the pictures of a market share: the time that they show, and the moment pointed at. */

import { useEffect, useState } from 'preact/hooks'

import { createStore, type Store } from '../lib/store.ts'

export type Range = { fromMs: number; toMs: number }
export type Prices = { low: number; high: number }
/** `fit` moves with the mid. */
export type PriceView = 'all' | 'fit' | Prices
export type TimeAxis = {
  whole: Range
  view: Store<Range>
  cursorMs: Store<number>
  /** A part of the time that is marked in all of them. */
  marked: Store<Range | undefined>
  /** Of the heat map. */
  prices: Store<PriceView>
}

/** Less than this looks the same. */
export const SHOWN_MS_MIN = 2_000

type Shown = { cursorMs: number; view?: Range; prices?: PriceView }

export const createTimeAxis = (
  whole: Range,
  { cursorMs, view = whole, prices = 'all' }: Shown,
): TimeAxis => ({
  whole,
  view: createStore(view),
  cursorMs: createStore(cursorMs),
  marked: createStore<Range | undefined>(undefined),
  prices: createStore(prices),
})

export const isWhole = ({ whole, view }: Pick<TimeAxis, 'whole' | 'view'>): boolean =>
  view.get().fromMs === whole.fromMs && view.get().toMs === whole.toMs

/** What is seen of a market that is followed, unless it was zoomed: two minutes, and room for what comes. */
const FOLLOWED_MS = 150_000
const ROOM = 0.2
/** Moved less often, because all pictures are drawn with each move. */
const FOLLOW_STEP_MS = 1_000

/** Moves what is seen along with the newest moment, which has room at its right. */
export function follow(axis: TimeAxis, newestMs: number): void {
  const { fromMs, toMs } = axis.view.get()
  const whole = axis.whole.toMs - axis.whole.fromMs
  const length = isWhole(axis) ? Math.min(FOLLOWED_MS, whole) : toMs - fromMs
  const endMs = Math.ceil((newestMs + ROOM * length) / FOLLOW_STEP_MS) * FOLLOW_STEP_MS
  setView(axis, endMs - length, length)
}

/**
 * Shows less (`factor` below 1) or more, around a moment that stays where it is, or is then at `part`
 * of what is seen.
 */
export function zoom(
  { whole, view }: TimeAxis,
  aroundMs: number,
  factor: number,
  part = partOf(view.get(), aroundMs),
): void {
  const { fromMs, toMs } = view.get()
  const length = Math.min(
    whole.toMs - whole.fromMs,
    Math.max(SHOWN_MS_MIN, (toMs - fromMs) * factor),
  )
  setView({ whole, view }, aroundMs - part * length, length)
}

const partOf = ({ fromMs, toMs }: Range, ms: number): number => (ms - fromMs) / (toMs - fromMs)

export function pan({ whole, view }: TimeAxis, byMs: number): void {
  const { fromMs, toMs } = view.get()
  setView({ whole, view }, fromMs + byMs, toMs - fromMs)
}

/** Points at a moment, and shows the part of the time that has it. */
export function pointAt(axis: TimeAxis, ms: number): void {
  const { fromMs, toMs } = axis.view.get()
  if (ms < fromMs || ms > toMs) pan(axis, ms - (fromMs + toMs) / 2)
  axis.cursorMs.set(ms)
}

/** Of rest, before anything is requested for what is seen. */
const REST_MS = 250

/** The time that is seen, when it has been the same for a moment. */
export function useSettledView({ view }: TimeAxis): Range {
  const [settled, settle] = useState(view.get())
  useEffect(() => {
    let timer = 0
    const end = view.subscribe(() => {
      clearTimeout(timer)
      timer = window.setTimeout(() => settle(view.get()), REST_MS)
    })
    settle(view.get())
    return () => {
      clearTimeout(timer)
      end()
    }
  }, [view])
  return settled
}

function setView(
  { whole, view }: Pick<TimeAxis, 'whole' | 'view'>,
  fromMs: number,
  length: number,
) {
  const start = Math.min(Math.max(fromMs, whole.fromMs), whole.toMs - length)
  view.set({ fromMs: start, toMs: start + length })
}
