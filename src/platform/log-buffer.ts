const FLUSH_AFTER_MS = 100
const FLUSH_AT_LENGTH = 64 * 1024

/** Buffers lines: one `write` every 100 ms or 64 KiB instead of one per line. */
export function createLogBuffer(write: (lines: string) => void) {
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
    write(line: string): void {
      pending += line
      if (pending.length >= FLUSH_AT_LENGTH) flush()
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS)
    },
    flush,
  }
}
