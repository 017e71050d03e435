/** A disk of PostgreSQL that is nearly full: a server says so before a change of the ledger fails. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { postgresEngine } from '#src/extensions/postgres/engine.ts'
import { openState } from '#src/extensions/postgres/state.ts'
import { freeBytesOf } from '#src/server/room.ts'

import { aKey, by, createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { createHarness, makeKey } from '../../support/harness.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const MS_MAX = 300_000
const MIB = 2 ** 20
/** Twice the size of both databases with their logs. */
const DISK_BYTES = 160 * MIB
const KEYS = 100
const TRIES_MAX = 1_000
const FULL =
  'Not ready: history, ledger. The disk of the database is full. Free some space and try again.'

/** A disk in memory; undefined without the right to mount one. */
function mountDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-disk-'))
  const words = ['mount', '-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=0755`, 'tmpfs', folder]
  if (Bun.which('mount') === null || !Bun.spawnSync(words).success) {
    rmSync(folder, { recursive: true })
    return undefined
  }
  return {
    folder,
    /** Fills it but for so many bytes. */
    async fillTo(left: number): Promise<string> {
      const ballast = join(folder, 'ballast')
      const size = Math.max(0, (freeBytesOf(folder) ?? 0) - left)
      await Bun.write(ballast, new Uint8Array(size))
      return ballast
    },
    [Symbol.dispose]() {
      Bun.spawnSync(['umount', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-replicas-'))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

const canMount = (() => {
  if (postgresPrograms === undefined) return false
  using disk = mountDisk()
  return disk !== undefined
})()

describe.skipIf(!canMount)('a nearly full disk of PostgreSQL', () => {
  test(
    'error: /readyz fails while keys can be created still, and is ready again with more room',
    async () => {
      using disk = mountDisk()
      if (disk === undefined) throw new Error('The disk is not there any more.')
      await using postgres = await startPostgres({ parent: disk.folder })
      using replicaFolder = makeFolder()
      const { folder } = replicaFolder
      const place = `${postgres.url}?schema=nearly_full`
      const ledgerPlace = `${postgres.url}?schema=nearly_full_ledger`
      const writer = await openLedgerIn(ledgerPlace, { nowMs: NOW_MS })
      await createKeyOne(writer)
      const writing = await openHistoryIn(place)
      const replicas = await postgresEngine.startReplicas(
        [
          { store: 'history', address: place, path: join(folder, 'history.db') },
          { store: 'ledger', address: ledgerPlace, path: join(folder, 'ledger.db') },
        ],
        {
          server: 'test',
          timer: () => performance.now(),
          known: new SharedArrayBuffer(16),
          say: () => {},
        },
      )
      const history = { ...writing, probeWrite: () => replicas.probeWrite('history') }
      const ledger = { ...writer, probeWrite: () => replicas.probeWrite('ledger') }
      const { send, advance } = createHarness({
        history,
        ledger,
        key: await makeKey(writer, 'pro'),
      })
      const read = async () => {
        // It writes once a second at most.
        advance(1000)
        const response = await send('/readyz')
        return [response.status, ((await response.json()) as { detail?: string }).detail]
      }
      /** A busy machine may keep the database from answering in time once. */
      const untilRead = async (answer: (string | number | undefined)[]) => {
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          if (Bun.deepEquals(await read(), answer)) return
          await Bun.sleep(100)
        }
        expect(await read()).toEqual(answer)
      }
      await untilRead([200, undefined])
      // Another process, such as a recorder, measures it by itself.
      const state = openState(place, 'history')
      expect((await state.look()).hasRoom).toBe(true)

      const ballast = await disk.fillTo(8 * MIB)
      await untilRead([503, FULL])
      for (let number = 2; number < KEYS; number++) await writer.createKey(aKey(number), by())
      await untilRead([503, FULL])
      const measured = openState(place, 'history')
      expect((await measured.look()).hasRoom).toBe(false)

      await rm(ballast)
      await untilRead([200, undefined])
      expect((await measured.look()).hasRoom).toBe(true)
      for (const { close } of [state, measured]) close()
      expect([...writer.verifyAudit()]).toEqual([])
      await replicas.close()
      for (const store of [history, writer]) store.dispose()
    },
    MS_MAX,
  )
})
