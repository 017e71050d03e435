import type { Problem } from '../lib/api.ts'
import { apiKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { Button } from './button.tsx'

/** What failed, why, its code, and what can be done about it. */
export function ProblemCard({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) {
  const { status, code, title, detail, retryAfterSeconds } = problem
  const needsKey = status === 401
  const hasKey = useStore(apiKey.store) !== undefined
  const needsTier = code === 'tier_route' || code === 'tier_coin'
  const isOurs = status > 0
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      <p>{detail}</p>
      <p class="row">
        {needsKey && hasKey && (
          <Button text="Forget this key" look="small" onClick={apiKey.forget} />
        )}
        {needsKey && (
          <a class="button small primary" href="/account">
            Get a key
          </a>
        )}
        {needsTier && (
          <a class="button small primary" href="/pricing">
            Compare tiers
          </a>
        )}
        {onRetry && !needsKey && !needsTier && (
          <Button look="small" onClick={onRetry}>
            {retryAfterSeconds === undefined
              ? 'Try again'
              : `Try again (in ${retryAfterSeconds} s)`}
          </Button>
        )}
        {isOurs && (
          <a href={`/docs/errors#${code}`}>
            <code>{code}</code>
          </a>
        )}
      </p>
    </div>
  )
}
