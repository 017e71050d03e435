/** Cores of their own for the server and for what asks it, where the system can pin processes. */
import { availableParallelism } from 'node:os'

const [SERVER_CPU, LOAD_CPU] = [0, 1]

const canPin = Bun.which('taskset') !== null && availableParallelism() > 1

/** For the heading of a report. */
export const coresTitle = canPin
  ? 'the server has one core and the load another'
  : 'NOT PINNED (taskset or a second core is missing): server and load took time from each other'

const pin = (core: number, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', `${core}`, ...command] : [...command]

export const onServerCore = (command: readonly string[], core = SERVER_CPU) => pin(core, command)
export const onLoadCore = (command: readonly string[], core = LOAD_CPU) => pin(core, command)

const moveTo = (core: number) => {
  if (canPin) Bun.spawnSync(['taskset', '-acp', `${core}`, String(process.pid)])
}

/** For a bench that is itself the server, or the client. */
export const moveToServerCore = () => moveTo(SERVER_CPU)
export const moveToLoadCore = () => moveTo(LOAD_CPU)
