import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { createStore, useStore } from '../lib/store.ts'
import type { CallProps } from './call-code.tsx'

/** Names the part of the page whose panel is open; one is open at a time. */
const opened = createStore<object | undefined>(undefined)

/** Whether the panel of a part of the page is open. Opening another closes it, and so does Escape. */
export function useCallPanel(): [isOpen: boolean, toggle: () => void] {
  const [own] = useState({})
  const isOpen = useStore(opened) === own
  useEffect(() => {
    if (!isOpen) return
    const button = document.activeElement
    const press = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || document.querySelector('dialog[open]') !== null) return
      // The focus would be lost with the panel.
      const isWithin = document.activeElement?.closest('.calls') != null
      opened.set(undefined)
      if (isWithin && button instanceof HTMLElement) button.focus()
    }
    addEventListener('keydown', press)
    return () => {
      removeEventListener('keydown', press)
      if (opened.get() === own) opened.set(undefined)
    }
  }, [isOpen])
  return [isOpen, () => opened.set(isOpen ? undefined : own)]
}

/** The requests behind a picture, ready to copy. */
export function CallPanel(props: CallProps) {
  const [Code, setCode] = useState<ComponentType<CallProps>>()
  const [text, setText] = useState('Loading…')
  useEffect(() => {
    import('./call-code.tsx').then(
      ({ CallCode }) => setCode(() => CallCode),
      () => setText('The code could not be loaded. Close this panel and open it again.'),
    )
  }, [])
  return <div class="calls">{Code ? <Code {...props} /> : <p class="note">{text}</p>}</div>
}
