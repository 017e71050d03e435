type Props<T> = {
  label: string
  options: readonly (readonly [value: T, text: string])[]
  value: T
  onChoose: (value: T) => void
  look?: 'small'
}

/** A choice among buttons. */
export const Choice = <T extends string | undefined>(props: Props<T>) => (
  <div class={`tabs ${props.look ?? ''}`.trimEnd()} role="group" aria-label={props.label}>
    {props.options.map(([value, text]) => (
      <button
        key={text}
        type="button"
        aria-pressed={value === props.value}
        onClick={() => props.onChoose(value)}
      >
        {text}
      </button>
    ))}
  </div>
)
