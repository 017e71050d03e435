import { useState } from 'preact/hooks'

import { request, toProblem, useApi } from '../../lib/api.ts'
import { freshKeyStore, type Key, type MadeKey } from '../../lib/billing.ts'
import { apiKey } from '../../lib/key.ts'
import { ProblemCard } from '../../parts/problem.tsx'
import { RecordTable } from '../../parts/record-table.tsx'

const overlaps = [
  [86_400, 'for a day'],
  [604_800, 'for a week'],
  [3600, 'for an hour'],
  [0, 'not at all'],
] as const

const when = (iso: string | null): string =>
  iso === null
    ? 'never'
    : new Date(iso).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })

/** The account's keys: a new name and a successor by rotation, an end by revocation. */
export function Keys() {
  const { data, problem, reload } = useApi<{ data: Key[] }>('/v1/keys')
  const [open, setOpen] = useState<{ id: string; deed: 'rotate' | 'revoke' }>()
  const done = () => {
    setOpen(undefined)
    reload()
  }
  return (
    <section class="card stack" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      <RecordTable columns={columns}>
        {data?.data.map((key) => (
          <KeyRow key={key.id} of={key} onDeed={(deed) => setOpen({ id: key.id, deed })} />
        ))}
      </RecordTable>
      {data?.data.map(
        (key) =>
          open?.id === key.id && (
            <Deed key={`${key.id} ${open.deed}`} of={key} deed={open.deed} onDone={done} />
          ),
      )}
    </section>
  )
}

const columns = ['Name', 'Ends with', 'Made', 'Last used', 'Works until', 'Actions']

function KeyRow({ of: key, onDeed }: { of: Key; onDeed: (deed: 'rotate' | 'revoke') => void }) {
  const cells = [
    <span key="name">
      {key.label ?? 'without a name'} {key.isCurrent && <span class="tag">in use here</span>}
    </span>,
    <code key="hint">…{key.hint}</code>,
    when(key.createdAt),
    when(key.lastUsedAt),
    key.expiresAt === null ? 'you end it' : when(key.expiresAt),
    <span class="row" key="deeds">
      <button
        type="button"
        class="button small"
        disabled={key.status === 'expiring'}
        onClick={() => onDeed('rotate')}
      >
        Rotate
      </button>
      <button type="button" class="button small" onClick={() => onDeed('revoke')}>
        Revoke
      </button>
    </span>,
  ]
  return (
    <tr>
      {cells.map((cell, index) => (
        <td key={columns[index]} data-name={columns[index]}>
          {cell}
        </td>
      ))}
    </tr>
  )
}

type DeedProps = { of: Key; deed: 'rotate' | 'revoke'; onDone: () => void }

function Deed({ of: key, deed, onDone }: DeedProps) {
  const [error, setError] = useState<unknown>()
  const act = async (form: FormData) => {
    try {
      if (deed === 'rotate') await rotate(key, form)
      else await request(`/v1/keys/${key.id}`, { method: 'DELETE' })
      if (deed === 'revoke' && key.isCurrent) apiKey.forget()
      onDone()
    } catch (cause) {
      setError(cause)
    }
  }
  return (
    <form
      class="stack deed"
      onSubmit={(event) => {
        event.preventDefault()
        void act(new FormData(event.currentTarget as HTMLFormElement))
      }}
    >
      {deed === 'rotate' ? <RotateFields of={key} /> : <RevokeText of={key} />}
      {error !== undefined && <ProblemCard problem={toProblem(error)} />}
      <p class="row">
        <button type="submit" class="button primary">
          {deed === 'rotate' ? 'Make the successor' : 'Revoke it now'}
        </button>
        <button type="button" class="button" onClick={onDone}>
          Leave it
        </button>
      </p>
    </form>
  )
}

async function rotate(key: Key, form: FormData): Promise<void> {
  const label = String(form.get('label') ?? '').trim()
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

const RotateFields = ({ of: { label, hint } }: { of: Key }) => (
  <>
    <p>
      A successor of <code>…{hint}</code> is made, and shown once. Both share one allowance while
      the old one still works.
    </p>
    <div class="row">
      <label class="field">
        <span>Its name</span>
        <input name="label" maxLength={60} defaultValue={label ?? ''} autocomplete="off" />
      </label>
      <label class="field">
        <span>The old one still works</span>
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
    <code>…{hint}</code> ends at once and for good.
    {isCurrent && ' It is the key of this tab, which then sees the sample alone.'}
  </p>
)
