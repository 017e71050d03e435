/** A picture with its name, the calls that made it, and what it can be saved as. */

import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

import type { Call } from '../lib/calls.ts'
import { type Cell, saveCsv, savePng } from '../lib/save.ts'
import { colorOf } from '../lib/theme.ts'
import { CallPanel } from './call-panel.tsx'

type Props = {
  title: string
  /** Of files that are saved. */
  name: string
  calls: readonly Call[]
  /** The canvas to be saved, as it is then. */
  canvas?: () => HTMLCanvasElement | null | undefined
  rows: () => Iterable<readonly Cell[]>
  tools?: ComponentChildren
  legend?: ComponentChildren
  children: ComponentChildren
}

export function Figure({ title, name, calls, canvas, rows, tools, legend, children }: Props) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const savePicture = () => {
    const picture = canvas?.()
    if (picture) savePng(picture, colorOf('--surface'), name)
  }
  return (
    <section class="figure card" aria-labelledby={id}>
      <header class="figure-head">
        <h2 id={id}>{title}</h2>
        {tools}
        <div class="figure-tools">
          <button
            type="button"
            class="button tiny"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            API
          </button>
          {canvas && (
            <button type="button" class="button tiny" onClick={savePicture}>
              PNG
            </button>
          )}
          <button type="button" class="button tiny" onClick={() => saveCsv(rows(), name)}>
            CSV
          </button>
        </div>
      </header>
      {isOpen && <CallPanel calls={calls} />}
      {children}
      {legend && <div class="legend">{legend}</div>}
    </section>
  )
}
