import { Button } from '../../parts/button.tsx'

/** Text to be copied. A command of one line is wrapped, so that all of it is seen. */
export const Code = ({ text }: { text: string }) => (
  <div class={text.includes('\n') ? 'code' : 'code is-command'}>
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Button text="Copy" look="small" data-copy />
  </div>
)
