/** What the parts of the operator's page are made of. */

import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

import { type Asked, isProblem } from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { ProblemCard } from '../../parts/problem.tsx'

const DASH = '–'
const number = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
export const showNumber = (value: number): string => number.format(value)
/** `2026-11-22 18:04:05`, in UTC. */
export const showWhen = (iso: string | null): string =>
  iso === null ? DASH : iso.slice(0, 19).replace('T', ' ')
const units = ['B', 'kB', 'MB', 'GB', 'TB']
export function showBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${showNumber(bytes / 1000 ** power)} ${units[power]}`
}

export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl>
      {rows.map(([name, value]) => (
        <>
          <dt key={name}>{name}</dt>
          <dd>{value ?? DASH}</dd>
        </>
      ))}
    </dl>
  )
}

type Row = { key: string; cells: readonly ComponentChildren[] }
type TableProps = {
  caption: string
  columns: readonly string[]
  rows: readonly Row[]
  none: string
}

/** Rows become blocks on a phone, each cell with the name of its column. */
export function Table({ caption, columns, rows, none }: TableProps) {
  if (rows.length === 0) return <p class="note">{none}</p>
  return (
    <table>
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
              <td key={name} class="wide" {...(name === '' ? {} : { 'data-name': name })}>
                {cells[index] ?? DASH}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** What is there, beside what is wrong; nothing moves when it is asked for again. */
export function Shown<T>({
  asked,
  children,
}: {
  asked: Asked<T>
  children: (data: T) => ComponentChildren
}) {
  const { data, problem } = asked
  return (
    <>
      {problem && <ProblemCard problem={problem} />}
      {data === undefined
        ? problem === undefined && <div class="page-wait" aria-busy="true" />
        : children(data)}
    </>
  )
}

type ConfirmProps = {
  /** Of the button that asks. */
  name: string
  title: string
  /** What will happen, and to whom. */
  children: ComponentChildren
  onConfirm: () => Promise<object>
  isDisabled?: boolean
}

/** A button whose act has to be confirmed: what it does cannot be undone. */
export function Confirm({ name, title, children, onConfirm, isDisabled }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [problem, setProblem] = useState<Problem>()
  const id = useId()
  const confirm = async () => {
    const answer = await onConfirm()
    setProblem(isProblem(answer) ? answer : undefined)
    if (!isProblem(answer)) dialog.current?.close()
  }
  return (
    <>
      <button
        type="button"
        class="button small danger"
        disabled={isDisabled === true}
        onClick={() => dialog.current?.showModal()}
      >
        {name}
      </button>
      <dialog ref={dialog} aria-labelledby={id} onClose={() => setProblem(undefined)}>
        <div class="stack">
          <h2 id={id}>{title}</h2>
          {children}
          {problem && <ProblemCard problem={problem} />}
          <div class="row">
            <button type="button" class="button danger" onClick={confirm}>
              {name}
            </button>
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </div>
      </dialog>
    </>
  )
}

/** The texts of a form; what is empty is not there. */
export function textsOf(form: EventTarget | null): Record<string, string> {
  if (!(form instanceof HTMLFormElement)) return {}
  const entries = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()])
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}

type FieldProps = { label: string; name: string; value?: string; isBroad?: boolean; hint?: string }
export const Field = ({ label, name, value = '', isBroad = false, hint = '' }: FieldProps) => (
  <label class={isBroad ? 'field broad' : 'field'}>
    <span>{label}</span>
    <input name={name} defaultValue={value} placeholder={hint} autocomplete="off" />
  </label>
)

type PagerProps<Place> = {
  isFirst: boolean
  next: Place | null
  onTurn: (to: Place | undefined) => void
}

/** The way to the newest records, and to the ones before those shown. */
export const Pager = <Place,>({ isFirst, next, onTurn }: PagerProps<Place>) => (
  <div class="row">
    {!isFirst && (
      <button type="button" class="button small" onClick={() => onTurn(undefined)}>
        Newest
      </button>
    )}
    {next !== null && (
      <button type="button" class="button small" onClick={() => onTurn(next)}>
        Older
      </button>
    )}
  </div>
)
