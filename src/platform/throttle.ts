/** Throttles progress lines to one every `everyMs`; `timer` counts milliseconds. */
export function throttleLines(everyMs: number, timer: () => number, say: (line: string) => void) {
  let saidMs = timer()
  return (line: () => string): void => {
    if (timer() - saidMs < everyMs) return
    saidMs = timer()
    say(line())
  }
}
