/** The checks of `bookfeed doctor`. */
import { existsSync } from 'node:fs'

import { settingsOf } from '#src/config/config.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { type StoreName, storeNames } from '#src/database/stores.ts'
import { clockFault, distanceFrom } from '#src/domain/clock-fault.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { messageOf } from '#src/platform/message.ts'
import { type CliContext, finder, type Finding } from '#src/server/extension.ts'
import { placeOf } from '#src/server/open-data-folder.ts'

import { addressOf, shownAddress } from './address.ts'
import { adviceOn, FAILOVER } from './faults.ts'
import { formats } from './formats.ts'
import { openState, type PostgresState, type Standby } from './state.ts'
import { variables } from './variables.ts'

const MB = 1e6
const SECOND_MS = 1000
/** A standby that lacks more than this would need a while before it can take over. */
const LAG_BYTES_MAX = 64 * MB
const LAG_MS_MAX = 30 * SECOND_MS
const CONNECTIONS_SHARE_MAX = 0.9

const found = finder('postgres')
const foundClock = finder('clock')

/** Checks each database once, even if it has both stores. */
export async function checkPostgres(context: CliContext): Promise<Finding[]> {
  const { config, clock } = context
  const places = settingsOf(config(), variables)
  const stores = storeNames.filter((store) => places[store] !== '')
  const databases = Map.groupBy(stores, (store) => addressOf(places[store]).url)
  const findings: Finding[] = []
  for (const [store] of databases.values())
    if (store !== undefined) findings.push(...(await checkDatabase(places[store], store, clock)))
  for (const store of stores)
    findings.push(...(await checkReplica(placeOf(context, store).path, places[store], store)))
  return findings
}

async function checkDatabase(place: string, store: StoreName, clock: Clock): Promise<Finding[]> {
  const state = openState(place, store)
  const name = new URL(shownAddress(place))
  name.search = ''
  try {
    const begunMs = clock()
    const looked = await state.look()
    const aheadMs = distanceFrom(0, looked.atMs - clock(), looked.atMs - begunMs)
    return [...describe(name.href, looked), describeClock(aheadMs)]
  } catch (error) {
    return [
      found('wrong', `${name.href} cannot be used: ${messageOf(error)}`, adviceOn(error, store)),
    ]
  } finally {
    state.close()
  }
}

function describe(name: string, state: PostgresState): Finding[] {
  const { answerMs, isWritable, connections, connectionsMax, databaseBytes, hasRoom } = state
  if (!isWritable)
    return [
      found(
        'wrong',
        `${name} is a standby that was not promoted: it is read-only.`,
        `Point the address to the primary. If the primary is lost, promote this one: ${FAILOVER}.`,
      ),
    ]
  const share = connections / connectionsMax
  const used = `${formatCount(connections)} of ${formatCount(connectionsMax)} connections are used`
  return [
    found(
      'ok',
      `${name} answers in ${answerMs.toFixed(1)} ms. It has ${formatCount(Math.ceil(databaseBytes / MB))} MB, and ${used}.`,
    ),
    ...(hasRoom === false
      ? [
          found(
            'wrong',
            'The disk of the database has less than 16 MiB of free space.',
            'Free some space there, or enlarge the disk: once it is full, PostgreSQL stops.',
          ),
        ]
      : []),
    ...(share > CONNECTIONS_SHARE_MAX
      ? [found('warning', `${used}.`, 'Raise max_connections, or run fewer servers and threads.')]
      : []),
    ...describeStandbys(state),
  ]
}

function describeClock(aheadMs: number): Finding {
  const fault = clockFault(aheadMs)
  if (fault === undefined) return foundClock('ok', 'It agrees with the clock of the database.')
  const todo =
    'Synchronize both clocks with NTP (timedatectl, chrony). Until then the server is not ready.'
  return foundClock('wrong', fault, todo)
}

function describeStandbys({
  standbysRequired = 0,
  standbys,
  standbyList,
}: PostgresState): Finding[] {
  if (standbyList === undefined) {
    const text = `${count(standbys, 'standby', 'standbys')} connected; the user may not see if it confirms commits.`
    return [found('skipped', text, 'Run as an administrator: GRANT pg_monitor TO the user.')]
  }
  const confirming = standbyList.filter(({ isSynchronous }) => isSynchronous)
  if (confirming.length < standbysRequired) {
    return [
      found(
        'wrong',
        `No commit can finish: each waits for ${count(standbysRequired, 'standby', 'standbys')}, and only ${formatCount(confirming.length)} can confirm.`,
        `Start the standby. If it is lost, remove it from synchronous_standby_names and set up another one: ${FAILOVER}.`,
      ),
    ]
  }
  if (standbysRequired === 0) {
    const todo = `Unless the service replicates by itself, set up a standby that confirms commits: ${FAILOVER}.`
    const text =
      standbys === 0
        ? 'No standby is connected: committed data exists only once.'
        : `${count(standbys, 'standby', 'standbys')} connected, but no commit waits for one: a failure of the primary may lose the last commits.`
    return [found('warning', text, todo)]
  }
  return standbyList.map(describeLag)
}

function describeLag({ name, isSynchronous, lagBytes, lagMs }: Standby): Finding {
  const what = `The standby ${name} ${isSynchronous ? 'confirms commits' : 'is connected'}`
  if (lagBytes <= LAG_BYTES_MAX && lagMs <= LAG_MS_MAX) return found('ok', `${what}.`)
  return found(
    'warning',
    `${what}, but lacks ${formatCount(Math.ceil(lagBytes / MB))} MB, for ${count(Math.round(lagMs / SECOND_MS), 'second')}.`,
    'Check its log, its disk, and the network between the two servers.',
  )
}

/** Reports how far the copy in this folder is behind; nothing if there is no copy. */
async function checkReplica(path: string, place: string, store: StoreName): Promise<Finding[]> {
  if (!existsSync(path)) return []
  const state = openState(place, store)
  try {
    const db = openDatabase(path, { format: formats[store].file, isReadOnly: true })
    const known = db.prepare<{ serial: number }, []>('SELECT serial FROM copied').get()
    db.close()
    const sinceMs = await state.findUncopied(known?.serial ?? -1)
    if (sinceMs === undefined)
      return [found('ok', `The copy of the ${store} in this folder is complete.`)]
    return [
      found(
        'warning',
        `The copy of the ${store} in this folder lacks commits since ${toIso(sinceMs)}.`,
        'If a server uses this folder, read its last log lines. A server that starts first completes the copy.',
      ),
    ]
  } catch (error) {
    return [found('skipped', `The copy of the ${store} cannot be compared: ${messageOf(error)}`)]
  } finally {
    state.close()
  }
}
