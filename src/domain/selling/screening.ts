/** The result of screening an address and the grounds for it, as recorded in the audit log. */

/** `silent`: asked, but no answer. `absent`: not configured, or not available on this chain. */
export type OracleAnswer = 'clear' | 'hit' | 'silent' | 'absent'

export type ScreeningGrounds = {
  list: {
    answer: 'clear' | 'hit' | 'absent'
    /** True if the list was last confirmed too long ago to be trusted. */
    isStale: boolean
    /** The publisher's date, `2026-11-20`, and the file's SHA-256 in hex. */
    publishedOn?: string | undefined
    sha256?: string | undefined
  }
  /** The Chainalysis oracle contract. */
  oracle: OracleAnswer
  /** The token issuers' block lists: one hit is enough. */
  issuers: OracleAnswer
}

/**
 * `hit`: a source lists the address. `clear`: no source does, and a fresh list or the oracle
 * confirms it. `unknown`: no source that can be trusted answered; fail closed.
 */
export type Verdict = {
  verdict: 'clear' | 'hit' | 'unknown'
  /** Lower case. */
  address: string
  timeMs: number
  grounds: ScreeningGrounds
}

/** Any hit is a hit, however old; only a source that can be trusted can clear. */
export function judge({ list, oracle, issuers }: ScreeningGrounds): Verdict['verdict'] {
  if (list.answer === 'hit' || oracle === 'hit' || issuers === 'hit') return 'hit'
  const isListClear = list.answer === 'clear' && !list.isStale
  return isListClear || oracle === 'clear' ? 'clear' : 'unknown'
}

/** Screens an address (`0x` and 40 hex digits, any case). Never rejects. */
export type Screen = (address: string) => Promise<Verdict>

/**
 * State of signup; `reason` is for the operator and the caller. With a `warning` signup is open,
 * but addresses cannot be screened at the moment.
 */
export type SignupState = { isOpen: true; warning?: string } | { isOpen: false; reason: string }
