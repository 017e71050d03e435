const program = new URL('../../src/main.ts', import.meta.url).pathname

/** Runs a command of the real program to its end, with only these variables. */
export const runCommand = (env: Record<string, string>, ...args: string[]) =>
  runCommandUnder([], env, ...args)

/** Like `runCommand`, started by another command. */
export async function runCommandUnder(
  starter: readonly string[],
  env: Record<string, string>,
  ...args: string[]
) {
  const child = Bun.spawn([...starter, process.execPath, program, ...args], {
    env,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [printed, errors] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => new Response(stream).text()),
  )
  return { exitCode: await child.exited, printed: printed ?? '', errors: errors ?? '' }
}
