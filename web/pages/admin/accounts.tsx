import { useState } from 'preact/hooks'

import { type Account, act, isProblem, type MadeKey, type Tier, useAdmin } from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { showStamp } from '../../lib/format.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Pager, Records } from '../../parts/records.tsx'
import { Confirm, Field, Name, Shown, textsOf, withoutKey } from './parts.tsx'

export type AccountPage = { data: Account[]; next: string | null }

export function Accounts() {
  const [search, setSearch] = useState<string>()
  const [after, setAfter] = useState<string>()
  const page = useAdmin<AccountPage>('/accounts', { search, after })
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setAfter(undefined)
    const { search: text } = textsOf(event.currentTarget)
    setSearch(text && withoutKey(text))
  }
  return (
    <>
      <KeyForm />
      <Card title="Accounts and keys">
        <form onSubmit={submit}>
          <Field
            label="Account, wallet, label, id of a key, or what it ends in"
            name="search"
            isBroad
          />
          <Button text="Search" type="submit" />
        </form>
        <Shown asked={page}>
          {({ data, next }: AccountPage) => (
            <>
              <AccountTable accounts={data} />
              <Pager isFirst={after === undefined} next={next} onTurn={setAfter} />
            </>
          )}
        </Shown>
      </Card>
    </>
  )
}

export const AccountTable = ({ accounts }: { accounts: readonly Account[] }) => (
  <Records
    caption="Accounts and their keys"
    columns={['Account', 'Tier', 'Key', 'Status', 'Last used', '']}
    none="No account matches."
    rows={accounts.flatMap(toRows)}
  />
)

function toRows(account: Account) {
  const { id, address, label, tierName, tierUntil, isBlocked, keys, createdAt } = account
  const name = (
    <div>
      <Name name={label ?? address ?? 'without a wallet'} />{' '}
      {isBlocked && <span class="tag down">blocked</span>}
      <div class="note">
        {label !== null && address !== null && <Name name={address} />} made {showStamp(createdAt)}
      </div>
      <div class="note mono">{id}</div>
    </div>
  )
  const has = `${tierName}${tierUntil === null ? '' : ` until ${showStamp(tierUntil)}`}`
  if (keys.length === 0) return [{ key: id, cells: [name, has, 'no key', '', '', ''] }]
  return keys.map((key) => ({
    key: key.id,
    cells: [
      name,
      has,
      <div>
        {key.label ?? 'Key'} <code>…{key.hint}</code>
        <div class="note mono">{key.id}</div>
      </div>,
      <span class={key.status === 'valid' ? 'tag up' : 'tag'}>{key.status}</span>,
      showStamp(key.lastUsedAt),
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
            on. You cannot undo this.
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
    <Card title="Make a key">
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
        <Field label="Days" name="days" hint="no end" />
        <Field label="Account" name="account" hint="new account" />
        <Field label="Wallet" name="address" hint="0x…" />
        <Button text="Make" type="submit" look="primary" />
      </form>
      {problem && <ProblemCard problem={problem} />}
      {made && (
        <div class="secret stack" role="status">
          <strong>Shown only once.</strong>
          <code>{made.key}</code>
          <span class="note">
            {made.id} of {made.accountId}. {made.warning}
          </span>
          <Button text="Hide" look="small" onClick={() => setMade(undefined)} />
        </div>
      )}
    </Card>
  )
}
