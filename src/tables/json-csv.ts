/** Lists as CSV. */

import type { Column } from './column.ts'
import { csvCell, csvHeader, csvLine } from './csv-text.ts'
import type { JsonEncoder, JsonRow } from './json-rows.ts'

const STEP_ROWS = 100

export function createJsonCsv(columns: readonly Column<JsonRow>[]): JsonEncoder {
  const lines = [csvHeader(columns)]
  return {
    *add(rows) {
      for (const [at, row] of rows.entries()) {
        lines.push(csvLine(columns.map(({ read }) => csvCell(String(read(row) ?? '')))))
        if (at % STEP_ROWS === STEP_ROWS - 1) yield
      }
    },
    end: () => new TextEncoder().encode(lines.join('')),
  }
}
