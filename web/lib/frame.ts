/** Draws in the next frame of the browser, once for any number of requests. */
export function createFrame(draw: () => void) {
  let id = 0
  return {
    request(): void {
      id ||= requestAnimationFrame(() => {
        id = 0
        draw()
      })
    },
    cancel(): void {
      cancelAnimationFrame(id)
      id = 0
    },
  }
}
