import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import type { CallProps } from './call-code.tsx'

/** The requests behind a chart, ready to copy. */
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
