/**
 * Books of this many tokens have to miss their hash as the venue sent them. A rebuilt book is no
 * evidence: after lost messages many do not fit, and their best prices may be right for a while.
 */
const WHOLE_BOOKS_MIN = 2
/** Books in a row, of any tokens, that have to agree. */
const IN_A_ROW_MIN = 10

export type RecipeWatch = ReturnType<typeof createRecipeWatch>

/**
 * Notices when the venue has changed what its hashes are made of: then no book fits its hash, and
 * that says nothing about the books. One watch serves all markets of a recorder. It calls `changed`
 * once when the recipe has changed, and once when hashes fit again.
 */
export function createRecipeWatch(changed: (isAdvisory: boolean) => void) {
  let isAdvisory = false
  let inARow = 0
  const wholeBooks = new Set<string>()

  function turn(): void {
    isAdvisory = !isAdvisory
    inARow = 0
    wholeBooks.clear()
    changed(isAdvisory)
  }

  return {
    /** Whether a hash that does not fit says nothing at present. */
    isAdvisory: () => isAdvisory,

    /** A book fitted its hash. */
    fitted(): void {
      if (!isAdvisory) {
        inARow = 0
        wholeBooks.clear()
      } else if (++inARow >= IN_A_ROW_MIN) turn()
    },

    /** A book did not fit its hash, though nothing else contradicts it. */
    missed(assetId: string, isWhole: boolean): void {
      if (isAdvisory) {
        inARow = 0
        return
      }
      inARow++
      if (isWhole) wholeBooks.add(assetId)
      if (inARow >= IN_A_ROW_MIN && wholeBooks.size >= WHOLE_BOOKS_MIN) turn()
    },
  }
}
