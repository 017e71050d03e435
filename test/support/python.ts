/** Runs programs in Python, which compute what is expected without code of the project. */
import { expect } from 'bun:test'

export const hasPython = Bun.which('python3') !== null

/** Whether Python runs a program without an error. */
export const canRun = (program: string): boolean =>
  hasPython && Bun.spawnSync(['python3', '-c', program], { stderr: 'ignore' }).success

export const canImport = (...names: string[]): boolean =>
  canRun(names.map((name) => `import ${name}`).join('\n'))

/** Runs a program to its end; returns its output. Fails if it prints an error. */
export async function runPython(
  program: string,
  args: readonly string[],
  input = '',
): Promise<string> {
  const stdin = new Blob([input])
  const child = Bun.spawn(['python3', program, ...args], { stdin, stdout: 'pipe', stderr: 'pipe' })
  const [text, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  expect([errors, await child.exited]).toEqual(['', 0])
  return text
}
