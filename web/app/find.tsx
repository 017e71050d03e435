/** The way to the search: a button, `/` and Ctrl-K. Its code is loaded when it is first opened. */

import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'

type Dialog = ComponentType<{ onClose: () => void }>

const typing = 'input:not([type=range], [type=checkbox]), select, textarea, [contenteditable]'

const isShortcut = ({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean => {
  if (key.toLowerCase() === 'k' && (ctrlKey || metaKey)) return true
  const isTyping = target instanceof Element && target.closest(typing) !== null
  return key === '/' && !isTyping && !ctrlKey && !metaKey && !altKey
}

export function Find() {
  const [isOpen, setOpen] = useState(false)
  const [Dialog, setDialog] = useState<Dialog>()
  useEffect(() => {
    if (!isOpen || Dialog !== undefined) return
    import('./find-dialog.tsx').then(
      ({ FindDialog }) => setDialog(() => FindDialog),
      () => setOpen(false),
    )
  }, [isOpen])
  // From the first paint on.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isShortcut(event) || document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <>
      <button
        type="button"
        class="button small find-button"
        aria-keyshortcuts="/ Control+K"
        onClick={() => setOpen(true)}
      >
        <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
          <path d="M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3zM13.5 13.5 17 17" />
        </svg>
        <span>Find</span>
        <span class="shortcut" aria-hidden="true">
          /
        </span>
      </button>
      {isOpen && Dialog !== undefined && <Dialog onClose={() => setOpen(false)} />}
    </>
  )
}
