import type { ComponentChildren } from 'preact'

import { Button } from './button.tsx'

export type Row = { key: string; cells: readonly ComponentChildren[] }
type RecordsProps = {
  caption: string
  /** The column without a name has the actions. */
  columns: readonly string[]
  rows: readonly Row[]
  /** Text in place of an empty table. */
  none: string
}

/** Rows of a table, which become blocks on a phone, each cell with the name of its column. */
export function Records({ caption, columns, rows, none }: RecordsProps) {
  if (rows.length === 0) return <p class="note">{none}</p>
  return (
    <div class="table-wrap">
      <table class="records">
        <caption class="sr">{caption}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name === '' ? <span class="sr">Actions</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {columns.map((name, index) => (
                <td key={name} {...(name === '' ? {} : { 'data-name': name })}>
                  {cells[index] ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type PagerProps<Place> = {
  isFirst: boolean
  next: Place | null
  onTurn: (to: Place | undefined) => void
}

/** Buttons for the newest and for the older records. */
export function Pager<Place>({ isFirst, next, onTurn }: PagerProps<Place>) {
  if (isFirst && next === null) return null
  return (
    <div class="row">
      {!isFirst && <Button text="Newest" look="small" onClick={() => onTurn(undefined)} />}
      {next !== null && <Button text="Older" look="small" onClick={() => onTurn(next)} />}
    </div>
  )
}
