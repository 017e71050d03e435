/** The wall clock of tests: 2026-01-02T03:04:05.678Z. */
export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
