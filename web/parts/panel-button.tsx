import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

import { Button } from './button.tsx'

type Props = {
  text: string
  /** The name of the panel. */
  name: string
  look?: string
  /** Content of the open panel. */
  children: () => ComponentChildren
}

/** A button that opens a panel beside it. Escape and a click elsewhere close the panel. */
export function PanelButton({ text, name, look = 'tiny', children }: Props) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button text={text} look={look} popovertarget={id} />
      <div
        id={id}
        class="panel panel-below"
        popover="auto"
        role="dialog"
        aria-label={name}
        tabIndex={-1}
        onToggle={({ newState }) => setOpen(newState === 'open')}
        // A choice in a panel does not point at a moment, which would end following.
        onPointerDown={(event) => event.stopPropagation()}
      >
        {isOpen && children()}
      </div>
    </>
  )
}
