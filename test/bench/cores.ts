/** Cores of their own for the server and for what asks it, where the system can pin processes. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const SERVER_CPU = 0
const LOAD_CPU = 1

const canPin = Bun.which('taskset') !== null && availableParallelism() > 1

/** For the heading of a report. */
export const coresTitle = canPin
  ? 'the server has one core and the load another'
  : 'NOT PINNED (taskset or a second core is missing): server and load took time from each other'

const pin = (core: number, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', `${core}`, ...command] : [...command]

export const onServerCore = (command: readonly string[], core: number | 'any' = SERVER_CPU) =>
  core === 'any' ? [...command] : pin(core, command)
export const onLoadCore = (command: readonly string[], core = LOAD_CPU) => pin(core, command)

const moveTo = (core: number) => {
  if (canPin) Bun.spawnSync(['taskset', '-acp', `${core}`, String(process.pid)])
}

/** For a bench that is itself the server, or the client. */
export const moveToServerCore = () => moveTo(SERVER_CPU)
export const moveToLoadCore = () => moveTo(LOAD_CPU)

const cgroups = '/sys/fs/cgroup'
const QUOTA_PERIOD_US = 10_000

/**
 * Leaves a process this share of one core (1 is all of it, 2 is two cores), by a quota of a cgroup
 * of its own (version 1 or 2). Returns what removes the group once the process has ended. Throws
 * where the system forbids it.
 */
export function limitProcessor(pid: number, share: number): () => void {
  const isVersion1 = existsSync(join(cgroups, 'cpu'))
  const group = join(cgroups, isVersion1 ? 'cpu' : '', `bookfeed-bench-${pid}`)
  mkdirSync(group)
  const write = (file: string, value: string) => writeFileSync(join(group, file), value)
  const quota = String(QUOTA_PERIOD_US * share)
  if (isVersion1) {
    write('cpu.cfs_period_us', String(QUOTA_PERIOD_US))
    write('cpu.cfs_quota_us', quota)
  } else write('cpu.max', `${quota} ${QUOTA_PERIOD_US}`)
  write('cgroup.procs', String(pid))
  return () => rmdirSync(group)
}
