/**
 * Tokens with a mismatched whole book that prove the recipe unknown. Rebuilt books are no evidence:
 * after lost messages many mismatch, although their best prices may be right for a while.
 */
const WHOLE_BOOKS_MIN = 2
/** Consecutive matching books, of either token, that prove the recipe known again. */
const IN_A_ROW_MIN = 10

export type RecipeWatch = ReturnType<typeof createRecipeWatch>

/**
 * Detects when no known recipe reproduces the hashes of a market, so that they are no evidence
 * about its books. The recipe is undecided until a book matches, or until the evidence shows that
 * none does, from the beginning or since the venue changed it. Calls `changed` with true when
 * hashes stop being evidence, and with false when they match again.
 */
export function createRecipeWatch(changed: (isAdvisory: boolean) => void) {
  let recipe: 'undecided' | 'known' | 'unknown' = 'undecided'
  let wasKnown = false
  let inARow = 0
  const wholeBooks = new Set<string>()

  function turn(to: 'known' | 'unknown'): void {
    const isFirst = recipe === 'undecided'
    recipe = to
    wasKnown ||= to === 'known'
    inARow = 0
    wholeBooks.clear()
    if (to === 'unknown' || !isFirst) changed(to === 'unknown')
  }

  return {
    /** True if a mismatched hash is currently no evidence. */
    isAdvisory: () => recipe === 'unknown',

    /** True if the venue has changed the recipe, after books of the market matched. */
    hasChanged: () => recipe === 'unknown' && wasKnown,

    /**
     * True if no book has matched so far, and too few have mismatched to conclude that none will.
     */
    isUndecided: () => recipe === 'undecided',

    /** Notes a book that matched its hash. */
    fitted(): void {
      if (recipe === 'undecided') turn('known')
      else if (recipe === 'known') {
        inARow = 0
        wholeBooks.clear()
      } else if (++inARow >= IN_A_ROW_MIN) turn('known')
    },

    /** Notes a book that did not match its hash, although nothing else contradicts it. */
    missed(assetId: string, isWhole: boolean): void {
      if (recipe === 'unknown') {
        inARow = 0
        return
      }
      inARow++
      if (isWhole) wholeBooks.add(assetId)
      if (inARow >= IN_A_ROW_MIN && wholeBooks.size >= WHOLE_BOOKS_MIN) turn('unknown')
    },

    /** Notes a book that waited long enough for another of its market to match. */
    giveUp(): void {
      if (recipe === 'undecided') turn('unknown')
    },
  }
}
