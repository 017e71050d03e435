/** What the parts of the operator's page are made of. */

import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

import { type Asked, isProblem } from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { Button } from '../../parts/button.tsx'
import { ProblemCard } from '../../parts/problem.tsx'

/** What is there, beside what is wrong; nothing moves when it is asked for again. */
export function Shown<T>({
  asked,
  children,
}: {
  asked: Asked<T>
  children: (data: T) => ComponentChildren
}) {
  const { data, problem } = asked
  // That the page is offline is said once, for all of it.
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

/** A name of an account; of a wallet its ends, with all of it for those who point at it. */
export const Name = ({ name }: { name: string }) => (
  <span title={name} class={isWallet(name) ? 'name' : undefined}>
    {isWallet(name) ? `${name.slice(0, 6)}…${name.slice(-4)}` : name}
  </span>
)

/** Where all of an account is. */
export const AccountLink = ({ id, name }: { id: string; name: string }) => (
  <a href={`/admin?tab=search&search=${encodeURIComponent(id)}`}>
    <Name name={name} />
  </a>
)

/** The texts of a form; what is empty is not there. */
export function textsOf(form: EventTarget | null): Record<string, string> {
  if (!(form instanceof HTMLFormElement)) return {}
  const entries = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()])
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}

/** What is searched for: of a whole key its end alone, as addresses are kept and logged. */
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
