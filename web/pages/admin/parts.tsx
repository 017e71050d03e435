/** Building blocks of the operator's page. */

import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

import { type Asked, isProblem } from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { Button } from '../../parts/button.tsx'
import { ProblemCard } from '../../parts/problem.tsx'

/** Loaded data with its problem, if any; nothing moves while it is loaded again. */
export function Shown<T>({
  asked,
  children,
}: {
  asked: Asked<T>
  children: (data: T) => ComponentChildren
}) {
  const { data, problem } = asked
  // The page says once that it is offline.
  const isSaid = data !== undefined && problem?.code === 'unreachable'
  return (
    <>
      {problem && !isSaid && <ProblemCard problem={problem} />}
      {data === undefined
        ? problem === undefined && <div class="page-wait" aria-busy="true" />
        : children(data)}
    </>
  )
}

type ConfirmProps = {
  /** Label of the button that opens the question. */
  name: string
  title: string
  /** The effect, and whom it concerns. */
  children: ComponentChildren
  onConfirm: () => Promise<object>
  isDisabled?: boolean
}

/** A button that asks for confirmation: its action cannot be undone. */
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
      <Button
        text={name}
        look="small danger"
        disabled={isDisabled === true}
        onClick={() => dialog.current?.showModal()}
      />
      <dialog ref={dialog} aria-labelledby={id} onClose={() => setProblem(undefined)}>
        <div class="stack">
          <h2 id={id}>{title}</h2>
          {children}
          {problem && <ProblemCard problem={problem} />}
          <div class="row">
            <Button text={name} look="danger" onClick={confirm} />
            <Button text="Cancel" onClick={() => dialog.current?.close()} />
          </div>
        </div>
      </dialog>
    </>
  )
}

const isWallet = (name: string): boolean => /^0x[0-9a-f]{40}$/i.test(name)

/** The name of an account; a wallet's address is shortened, with the whole address as its title. */
export const Name = ({ name }: { name: string }) => (
  <span title={name} class={isWallet(name) ? 'name' : undefined}>
    {isWallet(name) ? `${name.slice(0, 6)}…${name.slice(-4)}` : name}
  </span>
)

/** Address of an account's page. */
export const AccountLink = ({ id, name }: { id: string; name: string }) => (
  <a href={`/admin?tab=search&search=${encodeURIComponent(id)}`}>
    <Name name={name} />
  </a>
)

/** The texts of a form without empty fields. */
export function textsOf(form: EventTarget | null): Record<string, string> {
  if (!(form instanceof HTMLFormElement)) return {}
  const entries = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()])
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}

/** Cuts a whole key to its end, because addresses are kept and logged. */
export const withoutKey = (text: string): string =>
  /^bf_(live|test)_\w+$/.test(text) ? text.slice(-HINT_LENGTH) : text
const HINT_LENGTH = 4

type FieldProps = { label: string; name: string; value?: string; isBroad?: boolean; hint?: string }
export const Field = ({ label, name, value = '', isBroad = false, hint = '' }: FieldProps) => (
  <label class={isBroad ? 'field broad' : 'field'}>
    <span>{label}</span>
    <input name={name} defaultValue={value} placeholder={hint} autocomplete="off" />
  </label>
)
