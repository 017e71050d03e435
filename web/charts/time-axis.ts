/** State that all charts of a market share: the time in view and the crosshair. */

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
  /** A part of the time that is marked in all charts. */
  marked: Store<Range | undefined>
  /** Prices that the heat map shows. */
  prices: Store<PriceView>
}

/** A smaller change looks the same. */
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

/** Time in view while a market is followed, unless zoomed: two minutes, and room at the right. */
const FOLLOWED_MS = 150_000
const ROOM = 0.2
/** The view moves less often than rows come, because each move draws all charts. */
const FOLLOW_STEP_MS = 1_000

/** Moves the view along with the newest moment, with room at its right. */
export function follow(axis: TimeAxis, newestMs: number): void {
  const { fromMs, toMs } = axis.view.get()
  const whole = axis.whole.toMs - axis.whole.fromMs
  const length = isWhole(axis) ? Math.min(FOLLOWED_MS, whole) : toMs - fromMs
  const endMs = Math.ceil((newestMs + ROOM * length) / FOLLOW_STEP_MS) * FOLLOW_STEP_MS
  setView(axis, endMs - length, length)
}

/**
 * Shows less (`factor` below 1) or more time around a moment, which stays in place or moves to
 * `part` of the view.
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

/** Moves the crosshair to a moment, and the view if that is outside of it. */
export function pointAt(axis: TimeAxis, ms: number): void {
  const { fromMs, toMs } = axis.view.get()
  if (ms < fromMs || ms > toMs) pan(axis, ms - (fromMs + toMs) / 2)
  axis.cursorMs.set(ms)
}

/** Pause before columns are requested for the time in view. */
const REST_MS = 250

/** The view, once it has not changed for a moment. */
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
