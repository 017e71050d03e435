import { extensions } from '#src/extensions.ts'
import type { CliContext } from '#src/server/extension.ts'

import { readConfig } from './config.ts'
import { NOW_MS } from './now.ts'
import './stores.ts'

/**
 * A context that captures the output and log of a command. `stop()` is the first signal; if no
 * command runs, the next one receives it.
 */
export function createCliContext(given: Record<string, string> = {}) {
  const env = { ...given }
  const printed: string[] = []
  const errors: string[] = []
  const logged: string[] = []
  const stops = new Set<() => void>()
  let isStopped = false
  let minted = 0
  let drawn = 0
  const context: CliContext = {
    env,
    config: () => readConfig(env),
    clock: () => NOW_MS,
    createId: () => `minted${++minted}`,
    randomBytes: (length) => new Uint8Array(length).fill(++drawn),
    extensions,
    invocation: 'bookfeed',
    version: '0.0.0-test',
    program: new URL('../../src/main.ts', import.meta.url).pathname,
    print: (line) => void printed.push(line),
    printError: (line) => void errors.push(line),
    writeLog: (lines) => void logged.push(lines),
    isTty: false,
    columns: 80,
    setVariable(name, value) {
      env[name] = value
    },
    onStop: (stop) => {
      stops.add(stop)
      if (isStopped) stop()
      isStopped = false
      return () => void stops.delete(stop)
    },
  }
  const stop = () => {
    isStopped = stops.size === 0
    for (const each of stops) each()
  }
  return { context, printed, errors, logged, stop }
}
