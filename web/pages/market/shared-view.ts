/** The moment, the zoom and the cut-off in the address, so that a link shows the same view. */

import { useEffect } from 'preact/hooks'

import type { Range, TimeAxis } from '../../charts/time-axis.ts'
import { setQuery } from '../../lib/location.ts'

/** Pause before the address is written: browsers limit how often it may be. */
const SETTLED_MS = 400

/** A number of the address within bounds; undefined where there is none. */
export function readNumber(name: string, min: number, max: number): number | undefined {
  const text = new URLSearchParams(location.search).get(name)
  const value = Number(text ?? Number.NaN)
  return value >= min && value <= max ? value : undefined
}

/** The moment of the address, in unix ms. */
export const readMoment = ({ fromMs, toMs }: Range): number | undefined =>
  readNumber('at', fromMs, toMs)

/** The part of `whole` that the address names, at least `lengthMs` of it; else all. */
export function readView(whole: Range, lengthMs: number): Range {
  const fromMs = readNumber('from', whole.fromMs, whole.toMs - lengthMs)
  const toMs = fromMs && readNumber('to', fromMs + lengthMs, whole.toMs)
  return fromMs && toMs ? { fromMs, toMs } : whole
}

/** Writes the moment and the view into the address; removes them while `isFollowing`. */
export function useSharedView({ whole, view, cursorMs }: TimeAxis, isFollowing: boolean): void {
  useEffect(() => {
    let timer = 0
    const { pathname } = location
    const write = () => {
      // This page is still shown while another one is loaded.
      if (location.pathname !== pathname) return
      const { fromMs, toMs } = view.get()
      const hasNone = isFollowing || (fromMs === whole.fromMs && toMs === whole.toMs)
      const text = (ms: number) => String(Math.round(ms))
      setQuery({
        at: isFollowing ? undefined : text(cursorMs.get()),
        from: hasNone ? undefined : text(fromMs),
        to: hasNone ? undefined : text(toMs),
      })
    }
    const settle = () => {
      clearTimeout(timer)
      timer = window.setTimeout(write, SETTLED_MS)
    }
    const ends = [view.subscribe(settle), ...(isFollowing ? [] : [cursorMs.subscribe(settle)])]
    if (isFollowing) settle()
    return () => {
      clearTimeout(timer)
      for (const end of ends) end()
    }
  }, [whole, view, cursorMs, isFollowing])
}
