export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** Prints `3 entries`; the default plural adds an s. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(number)} ${number === 1 ? noun : plural}`
