/** Suggests the name that a misspelt one was probably meant to be. */

/** Maximum edit distance of a suggestion: one edit per four characters, but at least two. */
const editsMax = (name: string): number => Math.max(2, Math.floor(name.length / 4))

/** The name with the smallest edit distance from `text`; undefined if all differ too much. */
export function nearestName(text: string, names: readonly string[]): string | undefined {
  const distances = names.map((name) => ({ name, edits: countEdits(text, name) }))
  const [nearest] = distances.sort((a, b) => a.edits - b.edits)
  return nearest !== undefined && nearest.edits <= editsMax(text) ? nearest.name : undefined
}

/** Edit distance: characters inserted, deleted, replaced or swapped with their neighbour. */
export function countEdits(from: string, to: string): number {
  let twoAbove: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const edits = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      edits[column] = Math.min(
        (above[column] ?? 0) + 1,
        (edits[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (twoAbove[column - 2] ?? 0) + 1 : Infinity,
      )
    }
    twoAbove = above
    above = edits
  }
  return above[to.length] ?? 0
}
