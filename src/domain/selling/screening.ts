/** What screening says of an address, and on what grounds: it is written into the audit. */

/** `silent`: asked, without an answer. `absent`: not configured, or not there on this chain. */
export type OracleAnswer = 'clear' | 'hit' | 'silent' | 'absent'

export type ScreeningGrounds = {
  list: {
    answer: 'clear' | 'hit' | 'absent'
    /** True if the list was confirmed too long ago to be relied upon. */
    isStale: boolean
    /** The publisher's date, `2026-11-20`, and the file's SHA-256 in hex. */
    publishedOn?: string | undefined
    sha256?: string | undefined
  }
  /** The Chainalysis oracle contract. */
  oracle: OracleAnswer
  /** The token issuers' own block lists: any hit is a hit. */
  issuers: OracleAnswer
}

/**
 * `hit`: any source names the address. `clear`: none does, and a list that is not stale or the
 * oracle says so. `unknown`: nothing that may be relied upon answered; fail closed.
 */
export type Verdict = {
  verdict: 'clear' | 'hit' | 'unknown'
  /** Lower case. */
  address: string
  timeMs: number
  grounds: ScreeningGrounds
}

/** Any hit is a hit, however old; only what may be relied upon can clear. */
export function judge({ list, oracle, issuers }: ScreeningGrounds): Verdict['verdict'] {
  if (list.answer === 'hit' || oracle === 'hit' || issuers === 'hit') return 'hit'
  const isListClear = list.answer === 'clear' && !list.isStale
  return isListClear || oracle === 'clear' ? 'clear' : 'unknown'
}

/** Screens an address (`0x` and 40 hex digits, any case). Never rejects. */
export type Screen = (address: string) => Promise<Verdict>

/**
 * Whether new accounts are taken in; `reason` is for the operator and the caller. A `warning` says
 * that it is open, but that addresses cannot be screened just now.
 */
export type SignupState = { isOpen: true; warning?: string } | { isOpen: false; reason: string }
