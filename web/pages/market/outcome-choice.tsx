/** The shown outcome: as it was recorded, or as the mirror of the other. */

import { useMemo } from 'preact/hooks'

import { otherOutcome } from '../../charts/mirror.ts'
import type { Market, Outcome } from '../../lib/bodies.ts'
import { bestCovered, coveredOf } from '../../lib/covered.ts'
import { outcomeNames } from '../../lib/format.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'

export type ChosenOutcome = {
  outcome: Outcome
  /** The outcome that a market opens on. */
  first: Outcome
  /** The outcome of which nearly nothing was recorded, unlike the other. */
  missing: Outcome | undefined
  /** The chosen one, where it is missing and shown as the mirror of the other. */
  mirrored: Outcome | undefined
}

/** From the address, so that it can be shared; else the outcome that is covered best. */
export function useOutcome(market: Market): ChosenOutcome {
  const { query } = useLocation()
  // The first outcome stays the same while more is recorded.
  const first = useMemo(() => bestCovered(market), [market.conditionId])
  const outcome = sides.find(([each]) => each === query.get('outcome'))?.[0] ?? first
  const missing = sides.find(([each]) => isMissingIn(market, each))?.[0]
  const isMirrored = outcome === missing && query.get('view') === MIRRORED
  return { outcome, first, missing, mirrored: isMirrored ? outcome : undefined }
}

/** The view in the words of the API. */
const MIRRORED = 'consolidated'

const sides = [
  ['up', '▲ Up'],
  ['down', '▼ Down'],
] as const

/** The least coverage of an outcome that counts as recorded. */
const COVERED_MIN = 0.1

const isMissingIn = (market: Market, outcome: Outcome): boolean =>
  coveredOf(market, outcome) < COVERED_MIN && coveredOf(market, otherOutcome(outcome)) > COVERED_MIN

/** An outcome that was not recorded opens as the mirror of the other. */
export const OutcomeChoice = ({ outcome, first, missing }: ChosenOutcome) => (
  <Choice
    label="Outcome"
    options={sides.map(([each, text]) => [each, each === missing ? `${text} (mirror)` : text])}
    value={outcome}
    onChoose={(each) =>
      setQuery({
        outcome: each === first ? undefined : each,
        view: each === missing ? MIRRORED : undefined,
      })
    }
  />
)

/** Offers the mirror of an outcome that was not recorded, and says where it is shown. */
export function MirrorNote({ outcome, missing, mirrored }: ChosenOutcome) {
  if (outcome !== missing) return null
  const other = outcomeNames[otherOutcome(outcome)]
  return (
    <div class="card card-body row mirror-note">
      {mirrored ? (
        <>
          <span class="tag warn">mirror</span>
          <span>
            {outcomeNames[outcome]} is shown as the mirror of {other}: a bid for {other} at 40¢ is
            an ask for {outcomeNames[outcome]} at 60¢.
          </span>
          <Button
            text="Show what was recorded"
            look="small"
            onClick={() => setQuery({ view: undefined })}
          />
        </>
      ) : (
        <>
          <span>
            The {outcomeNames[outcome]} order book was not recorded. The {other} order book shows
            the same orders from the other side.
          </span>
          <Button
            text={`Show the mirror of ${other}`}
            look="small"
            onClick={() => setQuery({ view: MIRRORED })}
          />
        </>
      )}
    </div>
  )
}
