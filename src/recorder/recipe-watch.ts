/**
 * Notices when the venue has changed what its hashes are made of: then no book fits its hash, and
 * that says nothing about the books.
 */
export type RecipeWatch = {
  /** Whether a hash that does not fit says nothing at present. */
  isAdvisory(): boolean
  /** A book fitted its hash. */
  fitted(): void
  /** A book did not fit its hash, though nothing else speaks against it. */
  missed(book: { assetId: string; isWhole: boolean }): void
}

export type RecipeAlarm = {
  /** Called once when the recipe has changed, and once when hashes fit again. */
  changed(isAdvisory: boolean): void
  /** Books in a row that must agree, of any tokens. */
  inARowMin?: number | undefined
}

/**
 * Tokens of which a whole book, as the venue sent it, did not fit. A book that was rebuilt is no
 * evidence: after lost messages many do not fit, and their best prices may be right for a while.
 */
const WHOLE_BOOKS_MIN = 2
const IN_A_ROW_MIN = 10

/** One for all markets of a recorder. */
export function createRecipeWatch({ changed, inARowMin = IN_A_ROW_MIN }: RecipeAlarm): RecipeWatch {
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
    isAdvisory: () => isAdvisory,

    fitted() {
      if (!isAdvisory) {
        inARow = 0
        wholeBooks.clear()
      } else if (++inARow >= inARowMin) turn()
    },

    missed({ assetId, isWhole }) {
      if (isAdvisory) {
        inARow = 0
        return
      }
      inARow++
      if (isWhole) wholeBooks.add(assetId)
      if (inARow >= inARowMin && wholeBooks.size >= WHOLE_BOOKS_MIN) turn()
    },
  }
}
