import { Command } from 'commander'

import { integerIn } from '#src/cli/command-line.ts'
import { settingsOf } from '#src/config/config.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { Archiver } from '#src/history/archiver.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { withJobLock } from '#src/platform/job.ts'
import type { ObjectStore } from '#src/platform/object-store.ts'
import { throttleLines } from '#src/platform/throttle.ts'
import { commandError, stopSignal, usageError } from '#src/server/command-end.ts'
import type { CliContext } from '#src/server/extension.ts'
import { jobLockFor, openDataFolder } from '#src/server/open-data-folder.ts'

import { openArchive } from './range-reader.ts'
import { variables } from './variables.ts'

const DAYS_MAX = 36_500
const PROGRESS_EVERY_MS = 2000

const help = `
Moves the books of markets that are over to the bucket of BOOKFEED_ARCHIVE. Each object is put, read back and
compared by its SHA-256 before its books are deleted from the database. Pages, cursors and tags do not change.
Books that arrive later stay in the database until the next run. Objects that are no longer used are deleted.
You can stop the command at any time, and run it beside servers and recorders; a server with BOOKFEED_ARCHIVE
does the same every hour. A backup of the database does not contain books that are in the bucket.

Examples:
  BOOKFEED_ARCHIVE=s3://books/history bookfeed archive
  bookfeed archive --days 0`

/** `bookfeed archive`: moves old books out of the database. */
export const archiveCommand = (context: CliContext): Command =>
  new Command('archive')
    .description('move books of old markets to a bucket, from which they are served')
    .option(
      '--days <n>',
      'days for which a market stays in the database after its end; default: BOOKFEED_ARCHIVE_DAYS',
      integerIn(0, DAYS_MAX),
    )
    .addHelpText('after', help)
    .action((flags: { days?: number }) => archive(context, flags))

async function archive(context: CliContext, flags: { days?: number }): Promise<void> {
  const { config, print, clock } = context
  const { archive: place, archiveDays } = settingsOf(config(), variables)
  if (place === '') throw usageError('Set BOOKFEED_ARCHIVE to the bucket, as s3://bucket/prefix.')
  const store = openArchive(place)
  using history = await openDataFolder(context)
  const { archive: archiver } = history
  const done = await withJobLock(jobLockFor(context, 'history', 'archive'), async () => {
    const known = archiver.place()
    if (known !== undefined && known !== place)
      throw commandError(
        `Books of this history are in ${known}. Set BOOKFEED_ARCHIVE to that bucket.`,
      )
    // Fails before anything is noted.
    await store.probe()
    if (known === undefined) await archiver.setPlace(place)
    const before = clock() - (flags.days ?? archiveDays) * DAY_MS
    const { objects, bytes } = await putAll(context, archiver, store, before)
    const orphans = await archiver.takeOrphans(clock())
    for (const { id, name } of orphans) {
      await store.remove(name)
      await archiver.forget(id)
    }
    const removed = orphans.length > 0 ? `, ${count(orphans.length, 'object')} removed` : ''
    return `${count(objects, 'object')} of ${count(bytes, 'byte')} put in ${place}${removed}.`
  })
  print(done ?? 'Another process is archiving.')
}

/** Puts the books of markets that ended before a time, and seals each object that was stored. */
async function putAll(
  context: CliContext,
  archiver: Archiver,
  store: ObjectStore,
  before: number,
): Promise<{ objects: number; bytes: number }> {
  const { clock, printError } = context
  using stop = stopSignal(context)
  const due = archiver.due(before)
  let objects = 0
  let bytes = 0
  const report = throttleLines(PROGRESS_EVERY_MS, clock, printError)
  for (const [at, marketId] of due.entries()) {
    for (let packed = await archiver.pack(marketId, clock()); packed !== undefined;) {
      if (stop.signal.aborted) throw commandError('Stopped. Run the command again to continue.')
      await store.put(packed.name, packed.bytes)
      if (await packed.seal()) {
        objects++
        bytes += packed.bytes.length
      } else await store.remove(packed.name)
      packed = await archiver.pack(marketId, clock())
    }
    report(() => `archived ${formatCount(at + 1)} of ${formatCount(due.length)} markets`)
  }
  return { objects, bytes }
}
