/** The menu for typing a key, with the requests that it has left this minute. */

import { useRef, useState } from 'preact/hooks'

import { rateStore, request, toProblem } from '../lib/api.ts'
import { showSome } from '../lib/format.ts'
import { type KeyFault, keyFaultOf } from '../lib/key-checksum.ts'
import { apiKey, isTestKey, unknownKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { Button } from '../parts/button.tsx'

const faults: Record<KeyFault, string> = {
  shape:
    'A key begins with bf_live_ (or bf_test_) and has 41 characters. Check that you pasted the whole key.',
  checksum:
    'This key is mistyped: its last six characters do not match the rest. Copy the key again.',
}

const UNKNOWN =
  'The server does not know this key: it was revoked or replaced, or belongs to another server.'

export function KeyMenu() {
  const key = useStore(apiKey.store)
  const isUnknown = useStore(unknownKey) === key && key !== undefined
  const panel = useRef<HTMLDivElement>(null)
  const close = () => panel.current?.hidePopover()
  return (
    <div class="key-menu">
      <Button look="small" popovertarget="key-panel">
        <span class={key === undefined || isUnknown ? 'dot' : 'dot dot-on'} aria-hidden="true" />
        {key === undefined ? 'Use a key' : `…${key.slice(-4)}`}
        {isUnknown && ' unknown'}
      </Button>
      <div
        id="key-panel"
        class="panel"
        popover="auto"
        ref={panel}
        role="dialog"
        aria-label="API key"
        tabIndex={-1}
        onToggle={({ newState }) => {
          if (newState === 'open') focusFirst(panel.current)
        }}
      >
        {key === undefined ? (
          <KeyForm onDone={close} />
        ) : (
          <KeyState apiKeyText={key} isUnknown={isUnknown} onDone={close} />
        )}
      </div>
    </div>
  )
}

/** Focuses the field of the key, or, with a key, the panel, which has no field then. */
const focusFirst = (panel: HTMLElement | null) => (panel?.querySelector('input') ?? panel)?.focus()

function KeyForm({ onDone }: { onDone: () => void }) {
  const [fault, setFault] = useState('')
  const [isAsking, setAsking] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const data = new FormData(event.currentTarget)
    const typed = String(data.get('key') ?? '').trim()
    const wrong = keyFaultOf(typed)
    if (wrong !== undefined) {
      setFault(faults[wrong])
      return
    }
    setFault('')
    setAsking(true)
    const refused = await refusalOf(typed)
    setAsking(false)
    if (refused !== undefined) {
      setFault(refused)
      return
    }
    apiKey.set(typed, data.get('keep') === 'on')
    onDone()
  }
  return (
    <form class="stack" onSubmit={submit}>
      <label class="field">
        <span>API key</span>
        <input
          name="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder="bf_live_…"
          aria-describedby="key-note"
          aria-invalid={fault !== ''}
        />
      </label>
      {fault === '' ? null : (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <label class="check">
        <input name="keep" type="checkbox" /> Keep the key until this tab is closed
      </label>
      <p id="key-note" class="note">
        Otherwise the page forgets the key when you leave. The key is sent to this server alone.
        Without a key, you see a sample. <a href="/account">Get a key</a>
      </p>
      <Button text="Use this key" type="submit" look="primary" disabled={isAsking} />
    </form>
  )
}

/** The reason why the server refuses a key; undefined also if the server does not answer. */
async function refusalOf(key: string): Promise<string | undefined> {
  try {
    await request('/v1/usage', { authorization: `Bearer ${key}` })
    return undefined
  } catch (error) {
    const { status, detail } = toProblem(error)
    if (status !== 401) return undefined
    return isTestKey(key) ? detail : UNKNOWN
  }
}

type KeyStateProps = { apiKeyText: string; isUnknown: boolean; onDone: () => void }

function KeyState({ apiKeyText, isUnknown, onDone }: KeyStateProps) {
  const rate = useStore(rateStore)
  return (
    <div class="stack">
      <p>
        Using <code>{`${apiKeyText.slice(0, 8)}…${apiKeyText.slice(-4)}`}</code>
      </p>
      {isUnknown && <p class="fault">{UNKNOWN}</p>}
      <p class="note">
        {isTestKey(apiKeyText) && 'This is a test key: all data is simulated. '}
        {apiKey.isKept() ? 'Kept until this tab is closed.' : 'Forgotten when you leave this page.'}
        {rate && ` ${rate.remaining} of ${showSome(rate.limit, 'request')} left this minute.`}
      </p>
      <Button
        text="Forget the key"
        onClick={() => {
          apiKey.forget()
          onDone()
        }}
      />
    </div>
  )
}
