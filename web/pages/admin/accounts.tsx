import { useState } from 'preact/hooks'

import { type Account, act, isProblem, type MadeKey, type Tier, useAdmin } from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { ProblemCard } from '../../parts/problem.tsx'
import { Confirm, Field, Pager, Shown, showWhen, Table, textsOf } from './parts.tsx'

type Page = { data: Account[]; next: string | null }

export function Accounts() {
  const [search, setSearch] = useState<string>()
  const [after, setAfter] = useState<string>()
  const page = useAdmin<Page>('/accounts', { search, after })
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setAfter(undefined)
    setSearch(textsOf(event.currentTarget).search)
  }
  return (
    <>
      <KeyForm />
      <section class="card stack">
        <h2>Accounts and keys</h2>
        <form onSubmit={submit}>
          <Field
            label="Search"
            name="search"
            hint="account, wallet, label, key_…, or what a key ends in"
            isBroad
          />
          <button type="submit" class="button">
            Search
          </button>
        </form>
        <Shown asked={page}>
          {({ data, next }: Page) => (
            <>
              <Table
                caption="Accounts and their keys"
                columns={['Account', 'Tier', 'Key', 'Status', 'Last used', '']}
                none="No account fits."
                rows={data.flatMap(toRows)}
              />
              <Pager isFirst={after === undefined} next={next} onTurn={setAfter} />
            </>
          )}
        </Shown>
      </section>
    </>
  )
}

function toRows(account: Account) {
  const { id, address, label, tier, tierUntil, isBlocked, keys, createdAt } = account
  const name = (
    <div>
      <code>{id}</code> {label}
      {isBlocked && <span class="tag down">blocked</span>}
      <div class="note">{address ?? `made ${showWhen(createdAt)}`}</div>
    </div>
  )
  const has = `${tier}${tierUntil === null ? '' : ` until ${showWhen(tierUntil)}`}`
  if (keys.length === 0) return [{ key: id, cells: [name, has, 'no key', '', '', ''] }]
  return keys.map((key) => ({
    key: key.id,
    cells: [
      name,
      has,
      <div>
        <code>…{key.hint}</code> {key.label}
        <div class="note">{key.id}</div>
      </div>,
      <span class={key.status === 'valid' ? 'tag up' : 'tag'}>{key.status}</span>,
      showWhen(key.lastUsedAt),
      key.status === 'revoked' || key.status === 'expired' ? (
        ''
      ) : (
        <Confirm
          name="Revoke"
          title={`Revoke the key …${key.hint}?`}
          onConfirm={() => act('/keys/revoke', { id: key.id })}
        >
          <p>
            {key.id}
            {key.label === null ? '' : ` (${key.label})`} of {id} is refused from its next request
            on. It cannot be made valid again.
          </p>
        </Confirm>
      ),
    ],
  }))
}

/** The key is in the memory of this page until it is hidden, and nowhere else. */
function KeyForm() {
  const tiers = useAdmin<{ data: Tier[] }>('/tiers')
  const [made, setMade] = useState<MadeKey>()
  const [problem, setProblem] = useState<Problem>()
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget
    const answer = await act<MadeKey>('/keys', textsOf(form))
    setProblem(isProblem(answer) ? answer : undefined)
    setMade(isProblem(answer) ? undefined : answer)
    if (!isProblem(answer) && form instanceof HTMLFormElement) form.reset()
  }
  return (
    <section class="card stack">
      <h2>Make a key</h2>
      <form onSubmit={submit}>
        <label class="field">
          <span>Tier</span>
          <select name="tier">
            {tiers.data?.data.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Field label="Label" name="label" hint="desk 4" />
        <Field label="Days" name="days" hint="for ever" />
        <Field label="Account" name="account" hint="a new one" />
        <Field label="Wallet" name="address" hint="0x…" />
        <button type="submit" class="button primary">
          Make
        </button>
      </form>
      {problem && <ProblemCard problem={problem} />}
      {made && (
        <div class="secret stack" role="status">
          <strong>Shown this once: nobody can read it again.</strong>
          <code>{made.key}</code>
          <span class="note">
            {made.id} of {made.accountId}. {made.warning}
          </span>
          <button type="button" class="button small" onClick={() => setMade(undefined)}>
            Hide it
          </button>
        </div>
      )}
    </section>
  )
}
