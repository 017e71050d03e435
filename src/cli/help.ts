/** Help as a terminal shows it: what is written in lines of any length, in lines that fit. */

/** Longer lines of prose are hard to read. */
const WIDTH_MAX = 100
/** With less room beside its term, a description begins on the line below. */
const ABOUT_WIDTH_MIN = 30
/** A line that is indented this far continues the description above it. */
export const CONTINUATION_MIN = 10
export const NO_BREAK_SPACE = '\u00a0'
/** How commander begins the line that says how a command is called. */
const USAGE = 'Usage: '
const ROW = /^( +)(\S.*?)(?:( {2,})(\S.*))?$/

type Row = {
  /** With its indentation. */
  term: string
  about: string
  /** Where the description began; 0 where it had a line of its own. */
  column: number
}

/**
 * Fits help into a terminal. Lines without indentation are prose: they are joined and wrapped, and
 * so is an item, which begins with `- ` and is continued by lines with two spaces. Other indented
 * lines are rows: a term, and after two spaces its description. A term alone may be a command; one
 * that is too long is continued on the next line as in a shell. No line ends at a no-break space,
 * which is printed as a space. A call that is longer than a line by itself is not broken, because
 * its lines would still be too long.
 */
export function layoutHelp(text: string, columns: number): string {
  const width = Math.min(columns, WIDTH_MAX)
  const laidOut: string[] = []
  const lines = text.split('\n')
  /** Removes the lines at the front that match. */
  const takeWhile = (pattern: RegExp): string[] => {
    const end = lines.findIndex((line) => !pattern.test(line))
    return lines.splice(0, end === -1 ? lines.length : end)
  }
  for (let line = lines[0]; line !== undefined; line = lines[0]) {
    if (line.trim() === '' || line.startsWith(USAGE)) {
      laidOut.push(line)
      lines.shift()
    } else if (line.startsWith('- ')) {
      lines.shift()
      const rest = takeWhile(/^ {2}\S/).map((each) => each.trim())
      laidOut.push(...wrap([line, ...rest].join(' '), width, '  '))
    } else if (line.startsWith(' ')) {
      laidOut.push(...layoutRows(readRows(takeWhile(/^ +\S/)), width))
    } else {
      laidOut.push(...wrap(takeWhile(/^(?!- )\S/).join(' '), width))
    }
  }
  return laidOut.join('\n').replaceAll(NO_BREAK_SPACE, ' ')
}

/** Lines of words; the second one and those after it begin with `indent`. */
function wrap(text: string, width: number, indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line.trim() === '' || Bun.stringWidth(longer) <= width) {
      line = longer
      continue
    }
    lines.push(line)
    line = indent + word
  }
  return [...lines, line]
}

function readRows(lines: readonly string[]): Row[] {
  const rows: Row[] = []
  for (const line of lines) {
    const [, indent = '', term = '', gap = '', about = ''] = ROW.exec(line) ?? []
    const above = rows.at(-1)
    if (indent.length >= CONTINUATION_MIN && above) {
      above.about = `${above.about} ${line.trim()}`.trim()
    } else {
      const column = about === '' ? 0 : Bun.stringWidth(indent + term + gap)
      rows.push({ term: indent + term, about, column })
    }
  }
  return rows
}

function layoutRows(rows: readonly Row[], width: number): string[] {
  const column = Math.max(...rows.map((row) => row.column))
  const room = width - column
  const isBeside =
    column > 0 &&
    (room >= ABOUT_WIDTH_MIN || rows.every(({ about }) => Bun.stringWidth(about) <= room))
  return rows.flatMap(({ term, about }) => {
    const command = breakCommand(term, width)
    if (about === '') return command
    const indent = ' '.repeat(isBeside ? column : indentOf(term) + 4)
    const lines = wrap(about, width - indent.length).map((line) => indent + line)
    if (!isBeside || Bun.stringWidth(term) > column - 2) return [...command, ...lines]
    const [first = '', ...rest] = lines
    return [term + first.slice(Bun.stringWidth(term)), ...rest]
  })
}

const indentOf = (text: string): number => text.length - text.trimStart().length

/** Where a shell continues a command after a backslash: before an option or a pipe, else before a word. */
function breakCommand(term: string, width: number): string[] {
  if (Bun.stringWidth(term) <= width) return [term]
  const indent = ' '.repeat(indentOf(term) + 4)
  const room = width - ' \\'.length
  const lines: string[] = []
  let line = ''
  for (const part of term.split(/ (?=--[a-z]|[|>] )/)) {
    const longer = line === '' ? part : `${line} ${part}`
    if (line === '' || Bun.stringWidth(longer) <= room) {
      line = longer
      continue
    }
    lines.push(line)
    line = indent + part
  }
  const broken = [...lines, line].flatMap((each) => {
    const own = each.slice(0, indentOf(each))
    const words = wrap(each.slice(own.length), room - own.length, indent.slice(own.length))
    const fits = words.every((some) => Bun.stringWidth(own + some) <= room)
    return fits ? words.map((some) => own + some) : [each]
  })
  return broken.map((each, index) => (index < broken.length - 1 ? `${each} \\` : each))
}
