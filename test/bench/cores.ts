/** Cores of their own for the server and for what asks it, where the system can pin processes. */
import { availableParallelism } from 'node:os'

const [SERVER_CPU, LOAD_CPU] = ['0', '1']

const canPin = Bun.which('taskset') !== null && availableParallelism() > 1

/** For the heading of a report. */
export const coresTitle = canPin
  ? 'the server has one core and the load another'
  : 'NOT PINNED (taskset or a second core is missing): server and load took time from each other'

const pin = (cpu: string, command: readonly string[]): string[] =>
  canPin ? ['taskset', '-c', cpu, ...command] : [...command]

export const onServerCore = (command: readonly string[]) => pin(SERVER_CPU, command)
export const onLoadCore = (command: readonly string[]) => pin(LOAD_CPU, command)

const moveTo = (cpu: string) => {
  if (canPin) Bun.spawnSync(['taskset', '-acp', cpu, String(process.pid)])
}

/** For a bench that is itself the server, or the client. */
export const moveToServerCore = () => moveTo(SERVER_CPU)
export const moveToLoadCore = () => moveTo(LOAD_CPU)
