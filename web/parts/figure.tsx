/** A chart with its title. The menu of the page has its calls and its files. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

import type { Call } from '../lib/calls.ts'
import type { Cell } from '../lib/save.ts'
import { createStore } from '../lib/store.ts'

type FigureProps = {
  title: string
  /** Base name of saved files. */
  name: string
  /** Source of the data; saved files say if it is simulated. */
  source?: string
  calls: readonly Call[]
  guestToken?: string | undefined
  /** Returns the canvas to be saved, with its current picture. */
  canvas?: () => HTMLCanvasElement | null | undefined
  rows: () => Iterable<readonly Cell[]>
  /** Lines below a saved picture, such as the time that it shows. */
  notes?: () => readonly string[]
  tools?: ComponentChildren
  legend?: ComponentChildren
  children: ComponentChildren
}

export type ShownFigure = { props: FigureProps; section: HTMLElement }

/** The figures of the page, as they were drawn last. */
export const shownFigures = createStore<ReadonlyMap<string, ShownFigure>>(new Map())

export function Figure(props: FigureProps) {
  const { title, tools, legend, children } = props
  const id = useId()
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    if (section.current === null) return
    const shown = { props, section: section.current }
    shownFigures.set(new Map([...shownFigures.get(), [id, shown]]))
  })
  useEffect(
    () => () => shownFigures.set(new Map([...shownFigures.get()].filter(([each]) => each !== id))),
    [],
  )
  return (
    <section ref={section} class="figure card" aria-labelledby={id}>
      <header class="figure-head">
        <h2 id={id}>{title}</h2>
        {tools}
      </header>
      {children}
      {legend && <div class="legend">{legend}</div>}
    </section>
  )
}
