import type { Silence, Silences } from '#src/history/reads/with-downtime.ts'

/**
 * Silent sources set by a test: since when a recorder is silent, and since when the copy is behind.
 */
export function createSilences() {
  const since: { recorder: number | undefined; copy: number | undefined } = {
    recorder: undefined,
    copy: undefined,
  }
  const silences: Silences = () => [
    ...silenceOf('recorder_down', since.recorder),
    ...silenceOf('replica_behind', since.copy),
  ]
  return { since, silences }
}

const silenceOf = (reason: Silence['reason'], sinceMs: number | undefined): Silence[] =>
  sinceMs === undefined ? [] : [{ reason, sinceMs }]

/** A recorder that is silent since a moment; none without one. */
export const silentRecorder =
  (sinceMs: () => number | undefined): Silences =>
  () =>
    silenceOf('recorder_down', sinceMs())
