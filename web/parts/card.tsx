import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type Props = {
  title: string
  /** Beside the title. */
  tools?: ComponentChildren
  look?: string
  children: ComponentChildren
}

/** A part of a page, which screen readers name by its title. */
export function Card({ title, tools, look = 'stack', children }: Props) {
  const id = useId()
  const head = <h2 id={id}>{title}</h2>
  return (
    <section class={`card ${look}`} aria-labelledby={id}>
      {tools === undefined ? head : <div class="row spread">{[head, tools]}</div>}
      {children}
    </section>
  )
}
