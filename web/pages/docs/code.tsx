import { Button } from '../../parts/button.tsx'

/** Text to be copied. */
export const Code = ({ text }: { text: string }) => (
  <div class="code">
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Button text="Copy" look="small" data-copy />
  </div>
)
