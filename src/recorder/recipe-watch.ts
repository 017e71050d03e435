/**
 * Books of this many tokens have to miss their hash as the venue sent them. A rebuilt book is no
 * evidence: after lost messages many do not fit, and their best prices may be right for a while.
 */
const WHOLE_BOOKS_MIN = 2
/** Books in a row, of either token, that have to agree. */
const IN_A_ROW_MIN = 10

export type RecipeWatch = ReturnType<typeof createRecipeWatch>

/**
 * Notices when nothing known reproduces the hashes of a market: that says nothing about its books.
 * The recipe of a market is undecided until a book fits, or until the evidence is that none does,
 * from the beginning or since the venue changed it. Calls `changed` with true when hashes turn out
 * to say nothing, and with false when they fit again.
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
    /** Whether a hash that does not fit says nothing at present. */
    isAdvisory: () => recipe === 'unknown',

    /** Whether the venue has changed the recipe, by which books of the market fitted before. */
    hasChanged: () => recipe === 'unknown' && wasKnown,

    /** Whether no book fitted so far, and too few missed to say that none will. */
    isUndecided: () => recipe === 'undecided',

    /** A book fitted its hash. */
    fitted(): void {
      if (recipe === 'undecided') turn('known')
      else if (recipe === 'known') {
        inARow = 0
        wholeBooks.clear()
      } else if (++inARow >= IN_A_ROW_MIN) turn('known')
    },

    /** A book did not fit its hash, though nothing else contradicts it. */
    missed(assetId: string, isWhole: boolean): void {
      if (recipe === 'unknown') {
        inARow = 0
        return
      }
      inARow++
      if (isWhole) wholeBooks.add(assetId)
      if (inARow >= IN_A_ROW_MIN && wholeBooks.size >= WHOLE_BOOKS_MIN) turn('unknown')
    },

    /** A book waited long enough for another of its market that fits. */
    giveUp(): void {
      if (recipe === 'undecided') turn('unknown')
    },
  }
}
