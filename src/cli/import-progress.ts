import type { ImportProgress } from '#src/ingest/import-run.ts'

import type { CliContext } from './context.ts'
import { createProgress, type Progress } from './progress.ts'
import { formatCount } from './table.ts'

type ImportView = Pick<Progress, 'note' | 'end'> & { update(progress: ImportProgress): void }

/** Shows how far an import of files of these sizes has come; a size is undefined for a pipe. */
export function createImportProgress(
  context: CliContext,
  sizes: ReadonlyMap<string, number | undefined>,
): ImportView {
  const { note, end, update } = createProgress(context, 'importing')
  const startedMs = context.clock()
  const totals = [...sizes.values()]
  const total = totals.reduce<number>((sum, size) => sum + (size ?? 0), 0)
  const isKnown = total > 0 && totals.every((size) => size !== undefined)
  let file = ''
  let bytesBefore = 0
  let bytesHere = 0

  return {
    note,
    end,
    update(progress) {
      if (progress.file !== file) {
        bytesBefore += bytesHere
        file = progress.file
      }
      bytesHere = progress.bytesRead
      const seconds = Math.max((context.clock() - startedMs) / 1000, 0.001)
      const fraction = isKnown ? Math.min(1, (bytesBefore + bytesHere) / total) : undefined
      const { lines } = progress
      const parts = [
        `${formatCount(lines)} lines`,
        `${formatCount(Math.round(lines / seconds))} lines/s`,
      ]
      if (fraction !== undefined) parts.unshift(`${Math.floor(fraction * 100)} %`)
      if (fraction) parts.push(`${formatSeconds((seconds * (1 - fraction)) / fraction)} left`)
      update(parts.join(', '), fraction)
    },
  }
}

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}
