/** The menu of a page: for each figure, its API calls and the files that it can be saved as. */

import { useEffect, useState } from 'preact/hooks'

import type { Cell } from '../lib/save.ts'
import { useStore } from '../lib/store.ts'
import { Button } from './button.tsx'
import { CallPanel } from './call-panel.tsx'
import { type ShownFigure, shownFigures } from './figure.tsx'
import { PanelButton } from './panel-button.tsx'

const loadSave = () => import('../lib/save.ts')
/** After the first load. Once its code is loaded, saving works offline. */
const LOAD_SAVE_MS = 10_000

const pageTitle = (): string => document.querySelector('h1')?.textContent ?? ''

const sourceText = (source: string | undefined): string =>
  source === 'recorded' ? 'Polymarket, recorded by Bookfeed' : 'Bookfeed'

/** Rows with the source of the data. */
function* withSource(rows: Iterable<readonly Cell[]>): Generator<readonly Cell[]> {
  let isHead = true
  for (const row of rows) {
    yield [...row, isHead ? 'source' : 'simulated']
    isHead = false
  }
}

export function FigureMenu() {
  useEffect(() => {
    const timer = setTimeout(() => void loadSave().catch(() => undefined), LOAD_SAVE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <PanelButton text="Export" name="Code and files of this page">
      {() => <FigureList />}
    </PanelButton>
  )
}

function FigureList() {
  const figures = [...useStore(shownFigures)].sort(([, one], [, other]) =>
    one.section.compareDocumentPosition(other.section) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
  )
  const [withCalls, showCalls] = useState<string>()
  const [fault, setFault] = useState('')
  const save = (run: (code: Awaited<ReturnType<typeof loadSave>>) => void) =>
    void loadSave().then(
      (code) => {
        setFault('')
        run(code)
      },
      () => setFault('The file cannot be made: its code could not be loaded.'),
    )
  return (
    <>
      <ul class="figure-list">
        {figures.map(([id, figure]) => (
          <li key={id}>
            <span>{figure.props.title}</span>
            <Button
              text="API"
              look="tiny"
              aria-expanded={withCalls === id}
              onClick={() => showCalls(withCalls === id ? undefined : id)}
            />
            {figure.props.canvas && (
              <Button
                text="PNG"
                look="tiny"
                onClick={() => save((code) => savePicture(code, figure))}
              />
            )}
            <Button text="CSV" look="tiny" onClick={() => save((code) => saveRows(code, figure))} />
            {withCalls === id && (
              <CallPanel calls={figure.props.calls} guestToken={figure.props.guestToken} />
            )}
          </li>
        ))}
      </ul>
      {fault !== '' && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
    </>
  )
}

type SaveCode = typeof import('../lib/save.ts')

function savePicture({ savePng, readLegend }: SaveCode, { props, section }: ShownFigure): void {
  const { title, name, source, canvas, notes } = props
  const picture = canvas?.()
  if (picture === null || picture === undefined) return
  const whole = `${pageTitle()}: ${title}${source === 'simulated' ? ' (simulated)' : ''}`
  const below = [...(notes?.() ?? []), sourceText(source), location.href]
  savePng(picture, { title: whole, legend: readLegend(section), notes: below }, name)
}

function saveRows({ saveCsv }: SaveCode, { props }: ShownFigure): void {
  const { source, rows, name } = props
  saveCsv(source === 'simulated' ? withSource(rows()) : rows(), name)
}
