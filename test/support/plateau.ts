/** Detects if the resources of a process have stopped growing. */

/** Samples of a process by name. */
export type Looks = Readonly<Record<string, readonly number[]>>

/** The permitted excess of the last third over the middle one: a share of it, plus an amount. */
export type Bound = { share: number; more: number }

/** The minimum number of samples in a third. */
const LOOKS_LEAST = 10

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/**
 * One sentence for each growing series: the median of its last third exceeds that of the middle
 * third by more than its bound. The first third is ignored, because caches fill in it.
 */
export function growthOf(looks: Looks, bounds: Readonly<Record<string, Bound>>): string[] {
  return Object.entries(bounds).flatMap(([name, { share, more }]) => {
    const values = looks[name] ?? []
    const third = Math.floor(values.length / 3)
    if (third < LOOKS_LEAST) return [`${name} was seen ${values.length} times, which is too few.`]
    const [middle, last] = [values.slice(third, 2 * third), values.slice(2 * third)].map(median)
    if (middle === undefined || last === undefined) return []
    const most = middle * (1 + share) + more
    return last <= most
      ? []
      : [`${name} grows: ${last} in the last third, ${middle} in the middle, at most ${most}.`]
  })
}
