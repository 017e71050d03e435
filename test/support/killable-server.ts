import { bookfeed } from './program.ts'

/** `bookfeed serve` in a separate process. */
export type KillableServer = {
  origin: string
  pid: number
  /** Standard error so far. */
  errors(): string
  /** Its exit code after its end. */
  ended: Promise<number>
  /** kill -9; resolves when the process is gone. May be called twice. */
  kill(): Promise<void>
}

/**
 * Starts it with these variables and no other environment; resolves after its banner. `watch` is a
 * command that starts it in its own place.
 */
export async function startKillableServer(
  env: Record<string, string>,
  watch: readonly string[] = [],
): Promise<KillableServer> {
  const child = Bun.spawn([...watch, ...bookfeed('serve')], {
    // Creating the data of test mode takes a processor for a second.
    env: { BOOKFEED_RECORD: 'off', BOOKFEED_TEST_MODE: 'off', ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let errors = ''
  const readErrors = async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stderr) errors += decoder.decode(bytes, { stream: true })
  }
  void readErrors()
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
  }
  const greeting = await readGreeting(child.stdout)
  const origin = /listens on (\S+)/.exec(greeting)?.[1]
  const { pid, exited: ended } = child
  if (origin !== undefined) return { origin, pid, ended, errors: () => errors, kill }
  await kill()
  throw new Error(`The server ended before it listened:\n${greeting}${errors}`)
}

/** Reads up to the line about payments, or the end. */
async function readGreeting(output: ReadableStream<Uint8Array>): Promise<string> {
  const reader = output.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    text += decoder.decode(value, { stream: true })
    if (done || /^(Payments|Nothing is sold): .*\n/m.test(text)) break
  }
  // The rest is short and not read.
  reader.releaseLock()
  return text
}
