/** Saves what a picture shows as a file of the visitor's. */

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The browser has taken it by the next turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

export type Cell = string | number | null | undefined

export function saveCsv(rows: Iterable<readonly Cell[]>, name: string): void {
  let text = ''
  for (const row of rows) text += `${row.map((cell) => cell ?? '').join(',')}\n`
  save(new Blob([text], { type: 'text/csv' }), `${name}.csv`)
}

/** The picture on the ground that it is seen on. */
export function savePng(picture: HTMLCanvasElement, ground: string, name: string): void {
  const canvas = document.createElement('canvas')
  canvas.width = picture.width
  canvas.height = picture.height
  const context = canvas.getContext('2d')
  if (context === null) return
  context.fillStyle = ground
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(picture, 0, 0)
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`))
}
