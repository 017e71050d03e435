import type { Problem } from '../lib/api.ts'
import { apiKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { Button } from './button.tsx'

/** A failure: its title, reason and code, and what to do next. */
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
        {onRetry && !needsKey && !needsTier && status !== 404 && (
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
