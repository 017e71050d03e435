import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { request, toProblem, useApi } from '../../lib/api.ts'
import { freshKeyStore, type Key, type MadeKey } from '../../lib/billing.ts'
import { showStamp } from '../../lib/format.ts'
import { apiKey, isTestKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Records } from '../../parts/records.tsx'

const overlaps = [
  [86_400, 'for a day'],
  [604_800, 'for a week'],
  [3600, 'for an hour'],
  [0, 'not at all'],
] as const

/** The account's keys: another name, a successor by rotation, an end by revocation. */
export function Keys() {
  const { data, problem, reload } = useApi<{ data: Key[] }>('/v1/keys')
  const isTest = isTestKey(useStore(apiKey.store))
  const [open, setOpen] = useState<{ id: string; deed: DeedName }>()
  const done = () => {
    setOpen(undefined)
    reload()
  }
  return (
    <Card title="Keys">
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {data && (
        <Records
          caption="Keys of this account"
          columns={['Name', 'Ends with', 'Made', 'Last used', 'Valid', '']}
          none={isTest ? noneOfTest : 'No keys.'}
          rows={data.data.map((key) => ({
            key: key.id,
            cells: toCells(key, (deed) => setOpen({ id: key.id, deed })),
          }))}
        />
      )}
      {data?.data.map(
        (key) =>
          open?.id === key.id && (
            <Deed key={`${key.id} ${open.deed}`} of={key} deed={open.deed} onDone={done} />
          ),
      )}
    </Card>
  )
}

const noneOfTest = 'No keys. This page uses a test key, which no account lists.'

const toCells = (key: Key, onDeed: (deed: DeedName) => void) => [
  <span>
    {key.label ?? 'Unnamed'} {key.isCurrent && <span class="tag">in use here</span>}
  </span>,
  <code>…{key.hint}</code>,
  showStamp(key.createdAt),
  showStamp(key.lastUsedAt, 'never'),
  `until ${showStamp(key.expiresAt, 'revoked')}`,
  <span class="row">
    {deedNames.map((name) => (
      <Button
        text={deeds[name].name}
        key={name}
        look="small"
        disabled={name === 'rotate' && key.status === 'expiring'}
        onClick={() => onDeed(name)}
      />
    ))}
  </span>,
]

type DeedProps = { of: Key; deed: DeedName; onDone: () => void }

function Deed({ of: key, deed, onDone }: DeedProps) {
  const [error, setError] = useState<unknown>()
  const { Fields, submit, act } = deeds[deed]
  return (
    <form
      class="stack deed"
      onSubmit={(event) => {
        event.preventDefault()
        act(key, new FormData(event.currentTarget as HTMLFormElement)).then(onDone, setError)
      }}
    >
      <Fields of={key} />
      {error !== undefined && <ProblemCard problem={toProblem(error)} />}
      <p class="row">
        <Button text={submit} type="submit" look="primary" />
        <Button text="Cancel" onClick={onDone} />
      </p>
    </form>
  )
}

const labelOf = (form: FormData): string => String(form.get('label') ?? '').trim()

async function rename({ id }: Key, form: FormData): Promise<void> {
  await request(`/v1/keys/${id}`, { method: 'PATCH', body: { label: labelOf(form) } })
}

async function revoke({ id, isCurrent }: Key): Promise<void> {
  await request(`/v1/keys/${id}`, { method: 'DELETE' })
  if (isCurrent) apiKey.forget()
}

async function rotate(key: Key, form: FormData): Promise<void> {
  const label = labelOf(form)
  const made = await request<MadeKey>(`/v1/keys/${key.id}/rotate`, {
    method: 'POST',
    body: {
      overlapSeconds: Number(form.get('overlap')),
      ...(label === '' ? {} : { label }),
    },
    headers: { 'Idempotency-Key': crypto.randomUUID() },
  })
  freshKeyStore.set(made)
  if (key.isCurrent) apiKey.set(made.key, apiKey.isKept())
}

const LabelField = ({ label, isNeeded }: { label: string | null; isNeeded?: boolean }) => (
  <label class="field">
    <span>Name</span>
    <input
      name="label"
      maxLength={60}
      required={isNeeded}
      defaultValue={label ?? ''}
      autocomplete="off"
    />
  </label>
)

const RenameFields = ({ of: { label, hint } }: { of: Key }) => (
  <>
    <p>
      A new name for <code>…{hint}</code>. The key itself does not change.
    </p>
    <LabelField label={label} isNeeded />
  </>
)

const RotateFields = ({ of: { label, hint } }: { of: Key }) => (
  <>
    <p>
      A new key replaces <code>…{hint}</code> , and is shown only once. Both share one allowance
      while the old key still works.
    </p>
    <div class="row">
      <LabelField label={label} />
      <label class="field">
        <span>The old key still works</span>
        <select name="overlap">
          {overlaps.map(([seconds, name]) => (
            <option key={seconds} value={seconds}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  </>
)

const RevokeText = ({ of: { hint, isCurrent } }: { of: Key }) => (
  <p>
    <code>…{hint}</code> stops working at once, permanently.
    {isCurrent && ' This tab uses the key, and then shows the sample alone.'}
  </p>
)

const deedNames = ['rename', 'rotate', 'revoke'] as const
type DeedName = (typeof deedNames)[number]
type DeedTerms = {
  name: string
  submit: string
  Fields: (props: { of: Key }) => ComponentChildren
  act: (key: Key, form: FormData) => Promise<void>
}

const deeds: Record<DeedName, DeedTerms> = {
  rename: { name: 'Rename', submit: 'Save the name', Fields: RenameFields, act: rename },
  rotate: { name: 'Rotate', submit: 'Make the new key', Fields: RotateFields, act: rotate },
  revoke: { name: 'Revoke', submit: 'Revoke now', Fields: RevokeText, act: revoke },
}
