const FLUSH_AFTER_MS = 100
const FLUSH_AT_LENGTH = 64 * 1024

/** Gathers lines: one write every 100 ms or 64 KiB instead of one a line. */
export type LogBuffer = {
  /** Adds one line, newline included. */
  write(line: string): void
  /** Hands on what is gathered. To be called at the end. */
  flush(): void
}

/** Creates a buffer in front of `write`, which gets whole lines. */
export function createLogBuffer(write: (lines: string) => void): LogBuffer {
  let pending = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const lines = pending
    pending = ''
    if (lines !== '') write(lines)
  }
  return {
    write(line) {
      pending += line
      if (pending.length >= FLUSH_AT_LENGTH) flush()
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS)
    },
    flush,
  }
}
