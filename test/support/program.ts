/**
 * The command that starts the program in tests: from its source, or the executable named by
 * `PROGRAM`.
 */

// biome-ignore lint/style/noProcessEnv: what is tested is not for the product's settings.
const { PROGRAM } = process.env
const source = new URL('../../src/main.ts', import.meta.url).pathname

export const isExecutable = PROGRAM !== undefined

export const bookfeed = (...args: string[]): string[] =>
  PROGRAM === undefined ? [process.execPath, source, ...args] : [PROGRAM, ...args]
