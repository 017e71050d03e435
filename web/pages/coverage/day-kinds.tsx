/** Completeness of a day: one word for each kind of data. */

import { useEffect, useState } from 'preact/hooks'

import { useApi } from '../../lib/api.ts'
import type { DayKind, Listed } from '../../lib/bodies.ts'
import { DAY_MS } from '../../lib/days.ts'
import { shortReason } from '../../lib/gap-reasons.ts'

/** A day is requested once the pointer has rested on it. */
const REST_MS = 250

const names = [
  ['snapshots', 'Books'],
  ['trades', 'Trades'],
  ['settlements', 'Settlements'],
] as const

export function DayKinds({ coin, day }: { coin: string; day: string }) {
  const [rested, setRested] = useState(day)
  useEffect(() => {
    const timer = setTimeout(() => setRested(day), REST_MS)
    return () => clearTimeout(timer)
  }, [day])
  const from = Date.parse(rested)
  const { data } = useApi<Listed<DayKind>>(`/v1/${coin}/days`, { from, to: from + DAY_MS })
  const words = rested === day ? data?.data.filter((word) => word.day === day) : undefined
  if (words === undefined || words.length === 0) return null
  return (
    <dl class="day-kinds">
      {names.map(([kind, name]) => {
        const word = words.find((each) => each.kind === kind)
        const reasons = word?.reasons.map(shortReason).join(', ')
        return (
          <div key={kind}>
            <dt>{name}:</dt>
            <dd>
              <span class="state">{word?.state ?? '–'}</span>
              {reasons && ` (${reasons})`}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
