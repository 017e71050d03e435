import type { ButtonHTMLAttributes } from 'preact'

type Props = ButtonHTMLAttributes & {
  /** The label, if it is plain text. */
  text?: string
  /** `small` or `tiny`, `primary` or `danger`; several with a space between. */
  look?: string
}

/** A button that looks like one; it submits nothing unless its type says so. */
export const Button = ({ text, look = '', children, ...rest }: Props) => (
  <button type="button" class={`button ${look}`.trimEnd()} {...rest}>
    {text ?? children}
  </button>
)
