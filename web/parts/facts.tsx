import type { ComponentChildren } from 'preact'

type Fact = readonly [name: string, value: ComponentChildren, tone?: string]

/** Names and their values; a dash for an unknown one. */
export const Facts = ({ rows, look }: { rows: readonly Fact[]; look?: string }) => (
  <dl class={look}>
    {rows.map(([name, value, tone]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd class={tone}>{value ?? '–'}</dd>
      </div>
    ))}
  </dl>
)
