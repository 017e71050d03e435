/** Saves what a picture shows as a file of the visitor's. */

import { colorOf } from './theme.ts'

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

/** What is written above a picture: of what it is, and what its colours mean. */
export type Caption = { title: string; legend: readonly Meaning[] }
type Meaning = { text: string; color: string; alpha: number }
const LINE = 20
const MARGIN = 8
const SQUARE = 10

/** The picture on the ground that it is seen on, below its caption. */
export function savePng(
  picture: HTMLCanvasElement,
  { title, legend }: Caption,
  name: string,
): void {
  // A picture that is shown has more pixels than its place, on a fine screen.
  const scale = picture.clientWidth > 0 ? picture.width / picture.clientWidth : 1
  const lines = legend.length > 0 ? 2 : 1
  const head = Math.ceil((lines * LINE + MARGIN) * scale)
  const canvas = document.createElement('canvas')
  canvas.width = picture.width
  canvas.height = picture.height + head
  const context = canvas.getContext('2d')
  if (context === null) return
  context.fillStyle = colorOf('--surface')
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(picture, 0, head)
  context.scale(scale, scale)
  context.font = '13px system-ui, sans-serif'
  const ink = colorOf('--ink')
  context.fillStyle = ink
  context.fillText(title, MARGIN, LINE - 3, canvas.width / scale - 2 * MARGIN)
  let left = MARGIN
  for (const { text, color, alpha } of legend) {
    context.fillStyle = color
    context.globalAlpha = alpha
    context.fillRect(left, LINE + MARGIN, SQUARE, SQUARE)
    left += SQUARE + MARGIN
    context.fillStyle = ink
    context.globalAlpha = 1
    context.fillText(text, left, 2 * LINE - 3)
    left += context.measureText(text).width + 2 * MARGIN
  }
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`))
}
