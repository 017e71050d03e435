/** A picture with its name, the calls that made it, and what it can be saved as. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

import type { Call } from '../lib/calls.ts'
import type { Caption, Cell } from '../lib/save.ts'
import { Button } from './button.tsx'
import { CallPanel, useCallPanel } from './call-panel.tsx'

type Props = {
  title: string
  /** Of files that are saved. */
  name: string
  /** Of its data; all that is saved says if they are simulated. */
  source?: string
  calls: readonly Call[]
  guestToken?: string | undefined
  /** The canvas to be saved, as it is then. */
  canvas?: () => HTMLCanvasElement | null | undefined
  rows: () => Iterable<readonly Cell[]>
  /** What a saved picture states below it, such as the time that it shows. */
  notes?: () => readonly string[]
  tools?: ComponentChildren
  legend?: ComponentChildren
  children: ComponentChildren
}

const loadSave = () => import('../lib/save.ts')
/** After the first load. Saving works offline once its code is there. */
const LOAD_SAVE_MS = 10_000

const pageTitle = (): string => document.querySelector('h1')?.textContent ?? ''

/** As it is shown, each part in the colour that it explains. */
const legendIn = (section: HTMLElement | null): Caption['legend'] =>
  [...(section?.querySelectorAll<HTMLElement>('.legend span:not(.unseen)') ?? [])].map((part) => {
    const key = part.querySelector('i, rect') ?? part
    const { color, fill, fillOpacity } = getComputedStyle(key)
    const shown = key.matches('rect')
      ? { color: fill, alpha: Number(fillOpacity) }
      : { color, alpha: 1 }
    return { text: part.textContent.trim(), ...shown }
  })

const sourceText = (source: string | undefined): string =>
  source === 'recorded' ? 'Polymarket, recorded by Bookfeed' : 'Bookfeed'

/** Rows that say what they are. */
function* withSource(rows: Iterable<readonly Cell[]>): Generator<readonly Cell[]> {
  let isHead = true
  for (const row of rows) {
    yield [...row, isHead ? 'source' : 'simulated']
    isHead = false
  }
}

export function Figure(props: Props) {
  const { title, name, source, calls, guestToken, canvas, rows, notes } = props
  const { tools, legend, children } = props
  const isSimulated = source === 'simulated'
  const [isOpen, toggle] = useCallPanel()
  const id = useId()
  const section = useRef<HTMLElement>(null)
  const [fault, setFault] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => void loadSave().catch(() => undefined), LOAD_SAVE_MS)
    return () => clearTimeout(timer)
  }, [])
  const save = (run: (code: Awaited<ReturnType<typeof loadSave>>) => void) =>
    void loadSave().then(
      (code) => {
        setFault('')
        run(code)
      },
      () => setFault('The file cannot be made: its code could not be loaded.'),
    )
  const savePicture = () =>
    save(({ savePng }) => {
      const picture = canvas?.()
      if (picture === null || picture === undefined) return
      const whole = `${pageTitle()}: ${title}${isSimulated ? ' (simulated)' : ''}`
      const below = [...(notes?.() ?? []), sourceText(source), location.href]
      savePng(picture, { title: whole, legend: legendIn(section.current), notes: below }, name)
    })
  const saveRows = () =>
    save(({ saveCsv }) => saveCsv(isSimulated ? withSource(rows()) : rows(), name))
  return (
    <section ref={section} class="figure card" aria-labelledby={id}>
      <header class="figure-head">
        <h2 id={id}>{title}</h2>
        {tools}
        <div class="figure-tools">
          <Button text="API" look="tiny" aria-expanded={isOpen} onClick={toggle} />
          {canvas && <Button text="PNG" look="tiny" onClick={savePicture} />}
          <Button text="CSV" look="tiny" onClick={saveRows} />
        </div>
      </header>
      {fault !== '' && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {isOpen && <CallPanel calls={calls} guestToken={guestToken} />}
      {children}
      {legend && <div class="legend">{legend}</div>}
    </section>
  )
}
