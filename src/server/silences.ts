/** Silent sources of the history: recorders that give no sign of life, and a copy that is behind. */
import type { Copies } from '#src/database/copies.ts'
import { REPLICA_BEHIND } from '#src/domain/coverage.ts'
import { ifReadable } from '#src/domain/errors.ts'
import type { RecorderSign } from '#src/domain/recorder-sign.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import {
  noSilences,
  seriesOf,
  type Silence,
  type Silences,
} from '#src/history/reads/with-downtime.ts'

/** A recorder gives a sign every two seconds. If the last sign is older than this, it is silent. */
const SILENT_MS = 5000
/** How often the signs of recorders are read. */
const LOOK_MS = 1000

type Heard = { sign: RecorderSign; heardMs: number }

type SilencesOptions = {
  clock: Clock
  copies: Copies
  /** The id of the recorder of this thread, which lives as long as this code runs. */
  own?: (() => string | undefined) | undefined
}

/**
 * Watches the sources of a history. A recorder is silent if its row has not changed for five seconds
 * by the clock of this process. The clock of another machine counts only for the first row that is
 * read.
 */
export function watchSilences(
  history: Pick<MarketHistory, 'recorders'>,
  { clock, copies, own }: SilencesOptions,
): Silences {
  const heard = new Map<string, Heard>()
  let silent: readonly Silence[] = noSilences()
  let lookedMs = Number.NEGATIVE_INFINITY
  /** The last result, and the moment of the copy that it is for. */
  let kept = { silent, behindMs: undefined as number | undefined, all: silent }

  function hear(nowMs: number): void {
    const signs = ifReadable(() => history.recorders())
    if (signs === undefined) return
    const ids = new Set(signs.map(({ id }) => id))
    for (const id of heard.keys()) if (!ids.has(id)) heard.delete(id)
    for (const sign of signs) {
      const known = heard.get(sign.id)
      if (known === undefined || sign.id === own?.())
        heard.set(sign.id, { sign, heardMs: known ? nowMs : Math.min(sign.signMs, nowMs) })
      else if (known.sign.signMs !== sign.signMs)
        heard.set(sign.id, { sign, heardMs: Math.min(nowMs, Math.max(sign.signMs, lookedMs)) })
    }
  }

  function look(nowMs: number): void {
    hear(nowMs)
    const isSilent = ({ heardMs }: Heard): boolean => nowMs - heardMs > SILENT_MS
    const all = [...heard.values()]
    const dead = all.filter(isSilent)
    if (dead.length === 0 && silent.length === 0) return
    const live = new Set(
      all.filter((each) => !isSilent(each)).flatMap(({ sign }) => seriesIn(sign)),
    )
    silent = dead.flatMap(({ sign, heardMs }): Silence[] => {
      const series = new Set(seriesIn(sign)).difference(live)
      return series.size === 0 ? [] : [{ reason: 'recorder_down', sinceMs: heardMs, series }]
    })
  }

  return () => {
    const nowMs = clock()
    const behindMs = copies.behindSince('history')
    if (Math.abs(nowMs - lookedMs) >= LOOK_MS) {
      // A copy that is behind has no later signs.
      look(behindMs ?? nowMs)
      lookedMs = nowMs
    }
    if (kept.silent !== silent || kept.behindMs !== behindMs) {
      const behind: Silence[] =
        behindMs === undefined ? [] : [{ reason: REPLICA_BEHIND, sinceMs: behindMs }]
      kept = { silent, behindMs, all: behind.length === 0 ? silent : [...silent, ...behind] }
    }
    return kept.all
  }
}

/** The time of the last sign of a silent recorder that no other recorder replaces. */
export const silentRecorderSince = (silences: readonly Silence[]): number | undefined =>
  silences.find(({ reason }) => reason === 'recorder_down')?.sinceMs

/** The series of coins and timeframes that a recorder records. */
const seriesIn = ({ coins, timeframes }: RecorderSign): string[] =>
  coins.flatMap((coin) => timeframes.map((timeframe) => seriesOf({ coin, timeframe })))
