import { useEffect, useRef, useState } from 'preact/hooks'

import { toProblem } from '../../lib/api.ts'
import type { ApiRequest } from '../../lib/calls.ts'
import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { CallPanel } from '../../parts/call-panel.tsx'
import type { ApiIndex, IndexedOperation } from './api-index.ts'
import { keepAccessible } from './swagger-access.ts'
import { drawOperation, loadDocument, loadSwagger } from './swagger-ui.ts'

type Props = { index: ApiIndex; operation: IndexedOperation }

/** An operation that is opened: its code as it is filled in, and Swagger UI to try it. */
export function ApiOperation({ index, operation }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const key = useStore(apiKey.store)
  const [call, setCall] = useState<ApiRequest>()
  const [fault, setFault] = useState<string>()
  const [tries, setTries] = useState(0)
  useEffect(() => (host.current === null ? undefined : keepAccessible(host.current)), [])
  // The examples are those that the key can read.
  useEffect(() => {
    let end = () => {}
    let isGone = false
    setFault(undefined)
    Promise.all([loadDocument(), loadSwagger(index)]).then(
      ([whole]) => {
        if (!isGone && host.current) end = drawOperation(host.current, whole, operation, setCall)
      },
      (error: unknown) => {
        if (!isGone) setFault(error instanceof Error ? error.message : toProblem(error).detail)
      },
    )
    return () => {
      isGone = true
      end()
    }
  }, [key, tries])
  return (
    <div class="api-operation">
      {fault !== undefined && (
        <p role="alert">
          {fault} <Button text="Try again" look="small" onClick={() => setTries(tries + 1)} />
        </p>
      )}
      {call === undefined && fault === undefined && <p class="note">Loading…</p>}
      {call && <CallPanel calls={call} />}
      <div class="swagger">
        <div ref={host} class="swagger-ui" />
      </div>
    </div>
  )
}
