import type { SanctionsList } from '#src/ledger/ledger.ts'

/** True if a list may not be relied upon. One confirmed far in the future was so by a wrong clock. */
export const isStale = (
  { confirmedMs }: Pick<SanctionsList, 'confirmedMs'>,
  { nowMs, staleAfterMs }: { nowMs: number; staleAfterMs: number },
): boolean => Math.abs(nowMs - confirmedMs) > staleAfterMs
