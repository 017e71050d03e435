/** The way to the search: a button, `/` and Ctrl-K. Its code is loaded when it is first opened. */

import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

type Dialog = ComponentType<{ typed: string; onClose: () => void }>

const typing = 'input:not([type=range], [type=checkbox]), select, textarea, [contenteditable]'

const isShortcut = ({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean => {
  if (key.toLowerCase() === 'k' && (ctrlKey || metaKey)) return true
  const isTyping = target instanceof Element && target.closest(typing) !== null
  return key === '/' && !isTyping && !ctrlKey && !metaKey && !altKey
}

/** A text after a key, as a field would have it; undefined if the key changes no text. */
function typeKey(text: string, { key, ctrlKey, metaKey, altKey }: KeyboardEvent) {
  if (ctrlKey || metaKey || altKey) return undefined
  if (key === 'Backspace') return text.slice(0, -1)
  return key.length === 1 ? text + key : undefined
}

export function Find() {
  const [isOpen, setOpen] = useState(false)
  const [Dialog, setDialog] = useState<Dialog>()
  /** Text that was typed before the dialog was loaded; undefined unless it is loading. */
  const typed = useRef<string | undefined>(undefined)
  const open = () => {
    if (Dialog === undefined) typed.current ??= ''
    setOpen(true)
  }
  const close = () => {
    typed.current = undefined
    setOpen(false)
  }
  useEffect(() => {
    if (!isOpen || Dialog !== undefined) return
    import('./find-dialog.tsx').then(({ FindDialog }) => setDialog(() => FindDialog), close)
  }, [isOpen])
  // From the first paint on.
  useLayoutEffect(() => {
    // The dialog has the typed text now.
    if (Dialog !== undefined) typed.current = undefined
    const press = (event: KeyboardEvent) => {
      if (document.querySelector('dialog[open]') !== null) return
      const isAwaited = typed.current !== undefined
      const text = typeKey(typed.current ?? '', event)
      if (isAwaited && text !== undefined) typed.current = text
      else if (isAwaited && event.key === 'Escape') close()
      else if (isShortcut(event)) open()
      else return
      event.preventDefault()
      // Keys that are typed for the search must not start the player.
      event.stopPropagation()
    }
    addEventListener('keydown', press, true)
    return () => removeEventListener('keydown', press, true)
  }, [Dialog])
  return (
    <>
      <button
        type="button"
        class="button small find-button"
        aria-keyshortcuts="/ Control+K"
        onClick={open}
      >
        <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
          <path d="M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3zM13.5 13.5 17 17" />
        </svg>
        <span>Find</span>
        <span class="shortcut" aria-hidden="true">
          /
        </span>
      </button>
      {isOpen && Dialog !== undefined && <Dialog typed={typed.current ?? ''} onClose={close} />}
    </>
  )
}
