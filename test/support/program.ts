/** How tests start the program: from its source, or as the executable that `PROGRAM` names. */

// biome-ignore lint/style/noProcessEnv: what is tested is not for the product's settings.
const { PROGRAM } = process.env
const source = new URL('../../src/main.ts', import.meta.url).pathname

export const isExecutable = PROGRAM !== undefined

export const bookfeed = (...args: string[]): string[] =>
  PROGRAM === undefined ? [process.execPath, source, ...args] : [PROGRAM, ...args]
