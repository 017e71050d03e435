export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** `3 entries`; the plural adds an s unless it is given. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(number)} ${number === 1 ? noun : plural}`
