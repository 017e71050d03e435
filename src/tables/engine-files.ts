/** Files for backtest engines, by format: their names and their bytes. */

import { parameterError } from '#src/domain/errors.ts'
import type { Market, Outcome } from '#src/domain/market.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'

import { engineRuns } from './engine-steps.ts'
import { assetNameOf, marketFileName } from './markets.ts'
import type { Pieces, Progress } from './ndjson.ts'
import { npzPieces } from './npz.ts'
import { pmxtName, pmxtPieces } from './pmxt.ts'
import { type TardisKind, tardisPieces } from './tardis.ts'

export const engineFormats = ['npz', 'tardis', 'pmxt'] as const
export type EngineFormat = (typeof engineFormats)[number]

export const engineEndings: Record<EngineFormat, string> = {
  npz: 'npz',
  tardis: 'csv',
  pmxt: 'parquet',
}

/** `pmxt` has both outcomes by default, the others Up. */
export type EngineFile = {
  format: EngineFormat
  outcome?: Outcome | undefined
  /** Only for `tardis`; the book by default. */
  kind?: TardisKind | undefined
}

/** The name of a market's file from a moment on, without its ending. */
export function engineFileName(
  market: Market,
  fromMs: number | undefined,
  { format, outcome = 'up', kind }: EngineFile,
): string {
  const { windowStartMs, firstSnapshotMs = 0 } = market
  if (format === 'pmxt') return pmxtName(fromMs ?? windowStartMs ?? firstSnapshotMs)
  const parts = [marketFileName(market), outcome, kind]
  return parts.filter((part) => part !== undefined).join('-')
}

/** Throws `invalid_parameter` for a `kind` that the format does not have. */
export function assertEngineFile({ format, kind }: EngineFile): void {
  if (format !== 'tardis' && kind !== undefined)
    throw parameterError('kind', `\`kind\` goes with \`tardis\` only: ${format} has both.`)
}

/** Several markets only with `pmxt`. */
export async function* enginePieces(
  history: MarketHistory,
  queries: Iterable<StreamQuery>,
  progress: Progress,
  { format, outcome = 'up', kind = 'book' }: EngineFile,
): Pieces {
  if (format === 'pmxt') {
    yield* pmxtPieces(history, queries, progress)
    return
  }
  for (const query of queries) {
    const read = (counted: Progress) => engineRuns(history, { ...query, outcome }, counted)
    if (format === 'npz') yield* npzPieces(read, progress)
    else yield* tardisPieces(read(progress), kind, assetNameOf(query.market, outcome))
  }
}
