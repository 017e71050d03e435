import { useApi } from '../../lib/api.ts'
import { ProblemCard } from '../../parts/problem.tsx'

export function ExplorePage() {
  const { data, problem, reload } = useApi<{ data: { symbol: string }[] }>('/v1/coins')
  return (
    <section class="card">
      <h1>Explore</h1>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      <p>{data?.data.map(({ symbol }) => symbol).join(' ')}</p>
    </section>
  )
}
